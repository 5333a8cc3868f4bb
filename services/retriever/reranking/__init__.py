"""Rerankers: how relevant each text is to a query, by a model that reads both together."""
