"""Failure analysis: templates of errors over all queues, and features that are frequent in the failures of a cause."""
