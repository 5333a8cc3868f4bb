"""The engines that find chunks; they return ids and scores, never text."""
