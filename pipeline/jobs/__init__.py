"""Requests and schedules of the pipeline, and the start of one run at a time."""
