"""Gathers segments, builds evidence, streams the cited answer."""
