"""The engine: durable queues inside PostgreSQL. It knows no web."""
