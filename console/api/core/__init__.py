"""The base of every route of the API: authentication, idempotency, problems and JSON."""
