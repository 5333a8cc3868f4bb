"""What every service runs on: connections, delivery, the answer log, shared state."""
