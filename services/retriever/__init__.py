"""Owns knowledge bases: documents, chunks, indexes, search."""
