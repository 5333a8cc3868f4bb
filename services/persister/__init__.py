"""Owns conversations: stores every outcome once."""
