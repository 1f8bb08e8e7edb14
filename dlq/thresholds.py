"""From which size on a job is no longer one person's decision. Asked once, when the job is made."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from dlq.models import Job

SETTINGS = {
    "redrive": "APPROVAL_REDRIVE_MESSAGES",
    "deletion": "APPROVAL_DELETE_MESSAGES",
    "purge": "APPROVAL_DELETE_MESSAGES",
    "undo": "APPROVAL_UNDO_MESSAGES",
}


def threshold(noun: str) -> int | None:
    """How many messages such a job may touch without a second person; None when any number."""
    return int(getattr(settings, SETTINGS[noun])) or None if noun in SETTINGS else None


def hold_back(job: Job) -> None:
    """Let a new job wait for a second person if it is too large; one that nobody could count is."""
    most = threshold(job.NOUN)
    if most is None or (job.total_is_exact and job.total_estimate <= most):
        return
    job.state = Job.State.AWAITING
    job.needs_approval = True
    job.approval_expires_at = timezone.now() + timedelta(hours=settings.APPROVAL_HOURS)
