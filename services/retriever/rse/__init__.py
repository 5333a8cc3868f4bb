"""Relevant segment extraction: from ranked chunks to runs of chunks, as long as a document stays relevant."""
