"""HTTP and server-sent events in front of the chain."""
