"""Texts to vectors: the bundled model, OpenAI-compatible servers and fastembed behind one protocol."""
