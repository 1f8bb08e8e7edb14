"""The charts of the past of a queue, a tenant or all queues."""
