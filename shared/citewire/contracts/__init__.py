"""What the services say to each other and to the world: pydantic models and nothing else."""
