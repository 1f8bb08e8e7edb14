"""Pages of subscriptions: the picture and list of all, and one subscription of a queue."""
