"""What ends an attempt without any exception of the task: names for the errors of a task's result."""
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
    """What a message names to be run is no task of Django's."""
