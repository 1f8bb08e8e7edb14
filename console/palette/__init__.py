"""The palette: one search that leads to queues, messages, failure groups, jobs and pages."""
