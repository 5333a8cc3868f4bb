"""citewire: question answering over several knowledge bases, streamed, every citation proved."""
