"""The client of language models: one interface over two protocols and several providers."""
