"""Estimated time of a redrive: the time for sending at its rate, and the time for which its steps wait for outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dlq.jobs.models import Redrive
from dlq.redrives import canary


@dataclass(frozen=True)
class Eta:
    """Seconds until every message is sent. `at_least`: a canary waits, and the end of its wait is not known."""

    seconds: float
    at_least: bool = False


def eta(job: Redrive, now: datetime) -> Eta | None:
    """Return the estimate; None where the number of messages or the rate is not known yet."""
    rate = _rate(job)
    if not job.total_is_exact or rate is None or not job.is_active:
        return None
    left = max(0, job.total_estimate - job.handled)
    if job.step_limit is None:
        return Eta(left / rate)
    waits, known = waits_to_come(job, left), job.canary.get("wait_seconds")
    waited = canary.seconds_waited(job, now)
    if not waits or known is not None:
        return Eta(left / rate + waits * (known or 0.0))
    return Eta(left / rate + max(1, waits - 1) * waited, at_least=True) if waited else None


def waits_to_come(job: Redrive, left: int) -> int:
    """Count the steps that must know their outcomes before the last message is sent."""
    size, after = (job.step_limit or 0) - job.step_began["moved"], left - max(0, canary.room(job))
    waits = 0
    while after > 0:
        size *= canary.GROWTH
        after -= size
        waits += 1
    return waits


def _rate(job: Redrive) -> float | None:
    """Return the messages per second that the redrive sends while it sends."""
    if job.slowed_rate is not None:
        return max(1.0, min(job.slowed_rate, job.rate_per_second or job.slowed_rate))
    if job.rate_per_second:
        return float(job.rate_per_second)
    if job.step_limit is not None:
        return UNLIMITED_PER_SECOND
    if not job.started_at or not job.last_batch_at or not job.handled:
        return None
    seconds = (job.last_batch_at - job.started_at).total_seconds()
    return job.handled / seconds if seconds >= 1 else None


UNLIMITED_PER_SECOND = 5_000.0
"""Without a rate limit, the time of a redrive with a canary is that of its waits."""
