"""Errors that end an attempt without an exception of the task, for the results of tasks."""
# ruff: noqa: N818 - each class names what happened


class TaskTimeout(Exception):
    """The task ran longer than the worker's --task-timeout, and was stopped."""


class ProcessDied(Exception):
    """The process that ran the task ended."""


class LeaseExpired(Exception):
    """The worker neither finished nor extended its lease in time: it was killed, or cut off from the database."""


class TaskPurged(Exception):
    """The task was taken out of its queue."""


class TaskExpired(Exception):
    """The task was not run within the retention of its queue."""


class NotATask(Exception):
    """The message names a function that is no task of Django's."""
