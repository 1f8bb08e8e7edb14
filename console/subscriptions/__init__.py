"""Pages of subscriptions: who feeds whom, and one subscription of a queue."""
