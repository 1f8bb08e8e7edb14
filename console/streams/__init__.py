"""Pages of streams, consumer groups and subscriptions."""
