"""Streams, their consumer groups and subscriptions."""
