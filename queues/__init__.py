"""The engine: durable queues inside PostgreSQL. It has no code for the web."""
