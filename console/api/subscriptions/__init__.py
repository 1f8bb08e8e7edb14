"""Subscriptions of queues over HTTP."""
