"""The routes of queues and their consumers."""
