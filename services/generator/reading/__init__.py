"""Reads a model's answer while it streams: what may be shown at once, and what it claims to quote."""
