"""Typed confirmations: above a number of messages a person types a word before a job starts."""

from __future__ import annotations

from django.conf import settings

from dlq.jobs.models import Job

# The setting of each kind of job: above this number of messages a person must type a word. 0: for every job.
THRESHOLDS = {
    "redrive": "TYPED_CONFIRMATION_REDRIVE_ABOVE",
    "deletion": "TYPED_CONFIRMATION_ABOVE",
    "purge": "TYPED_CONFIRMATION_ABOVE",
}


def above(noun: str) -> int:
    """Return the number of messages above which a job of this kind needs a typed word."""
    return int(getattr(settings, THRESHOLDS[noun]))


def must_confirm(job: Job) -> bool:
    """Tell whether the job needs a typed word; a job whose messages could not be counted does."""
    return asks(job.NOUN, job.total_estimate, exact=job.total_is_exact)


def asks(noun: str, messages: int, *, exact: bool = True) -> bool:
    """Tell whether a job of this kind needs a typed word for this number of messages."""
    return not exact or not above(noun) or messages > above(noun)
