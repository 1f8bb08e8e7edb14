"""Connections of a client: making, pooling, listening, reconnecting and finding the primary."""
