"""The HTTP API measured beside a bare ASGI endpoint that does the same SQL: what it costs to ask over HTTP at all."""
