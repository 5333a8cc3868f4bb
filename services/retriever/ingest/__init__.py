"""From a file's bytes to text with pages, sections and chunks: no database, no bus."""
