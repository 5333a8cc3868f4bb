"""Turns a question into retrieval queries."""
