"""The past of queues and groups, in steps."""
