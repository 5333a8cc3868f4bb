"""The stages, by what they are asked for: searches, uploads, and requests about what is kept."""
