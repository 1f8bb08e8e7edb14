"""Failure analysis: templates of errors over all queues, and what sets the failures of a cause apart."""
