"""Adaptive rate: a redrive halves its rate while a destination is above a threshold, and raises it by quarters later.

The thresholds are options of the plan: the messages in a destination, the age of its oldest message, and the share of
outcomes since the last check that failed again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from dlq.jobs.models import Redrive
from dlq.redrives.plan_options import MAX_RATE_PER_SECOND, Options
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.models import Queue

CONSIDER_SECONDS = 2.0
SLOWER, FASTER = 0.5, 1.25
# The share of fewer outcomes than these is ignored.
LEAST_OUTCOMES = 10


def consider(job: Redrive, options: Options, now: datetime) -> None:
    """Every two seconds, halve the rate above a threshold, or raise it by a quarter below all of them."""
    if not options.slows or not _is_due(job, now):
        return
    names = [job.target_queue] if job.target_queue else job.source_queues
    numbers = read_numbers(list(Queue.objects.filter(name__in=names).values_list("queue_id", flat=True)))
    reasons = troubles(options, numbers, job)
    ceiling = float(job.rate_per_second or MAX_RATE_PER_SECOND)
    before = job.slowed_rate or ceiling
    job.slowed_rate = next_rate(before, ceiling, in_trouble=bool(reasons))
    if job.slowed_rate is None:
        job.note = ""
    elif reasons:
        job.note = f"Slowed to {job.slowed_rate:,.0f}/s: {'; '.join(reasons)}."[:500]
    else:
        job.note = f"Recovering: {job.slowed_rate:,.0f}/s of {ceiling:,.0f}/s."
    job.slow_memory = {"at": now.isoformat(), "failed": job.failed, "settled": job.settled}


def next_rate(before: float, ceiling: float, *, in_trouble: bool) -> float | None:
    """Return the next rate; None when the full rate is reached."""
    if in_trouble:
        return max(1.0, before * SLOWER)
    faster = math.ceil(before * FASTER)
    return None if faster >= ceiling else float(faster)


def troubles(options: Options, numbers: Sequence[QueueNumbers], job: Redrive) -> list[str]:
    """List the values that are above their thresholds, in words."""
    found = []
    for one in numbers:
        depth, age = one.ready + one.scheduled + one.waiting, one.oldest_ready_age_seconds or 0.0
        if options.slow_depth and depth > options.slow_depth:
            found.append(f"{one.name} has {depth:,} messages, more than {options.slow_depth:,}")
        if options.slow_age_seconds and age > options.slow_age_seconds:
            limit = f"more than {options.slow_age_seconds:,} s"
            found.append(f"the oldest message in {one.name} has waited for {age:,.0f} s, {limit}")
    settled = job.settled - job.slow_memory.get("settled", 0)
    failed = job.failed - job.slow_memory.get("failed", 0)
    percent = options.slow_failed_percent
    if percent and settled >= LEAST_OUTCOMES and failed * 100 > percent * settled:
        found.append(f"{failed} of the last {settled} failed again, more than {percent} %")
    return found


def _is_due(job: Redrive, now: datetime) -> bool:
    if "at" not in job.slow_memory:
        return True
    since = now - datetime.fromisoformat(job.slow_memory["at"])
    return abs(since) >= timedelta(seconds=CONSIDER_SECONDS)  # also when the clock was set back
