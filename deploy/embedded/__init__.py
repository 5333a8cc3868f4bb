"""The local stack: NATS, Valkey and Postgres from wheels, all roles, sample knowledge bases."""
