"""Queues at the SQS endpoint: their addresses, attributes, tags and life."""
