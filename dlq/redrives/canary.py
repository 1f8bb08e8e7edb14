"""Canary: a few messages go first. The rest waits for their outcomes, goes in steps that double, and stops by itself.

The next step begins when the outcomes of the step are known: of the canary's all, of a later
one nine in ten, for one straggler should not hold the others. The redrive pauses itself when more than the chosen
share of a step has failed again, or too many in a row.
"""

from __future__ import annotations

from typing import Any

from dlq.jobs.models import Redrive
from dlq.jobs.runner import REST
from dlq.redrives import plans
from dlq.redrives.plan_options import Options
from queues import bulk_verbs

POLL_SECONDS = 0.5
GROWTH = 2
# Of a later step, one in STRAGGLERS messages may be open when the next begins.
STRAGGLERS = 10


def first_step(options: Options, canaries: list[int]) -> dict[str, Any]:
    """The fields of a redrive that begins; without a canary there are no steps."""
    if not options.has_canary:
        return {}
    size = max(1, options.canary_messages, len(canaries))
    return {"step_limit": size, "step_began": {"step": 0, "moved": 0, "failed": 0}, "canaries": canaries}


def same_step_again(job: Redrive) -> dict[str, Any]:
    """The fields of a redrive that is resumed: it is judged by what it sends from now on."""
    if job.step_limit is None:
        return {}
    began = _counts(job) | {"judged_after": bulk_verbs.newest_redriven()}
    return {"step_limit": job.moved + _size(job), "step_began": began, "failed_in_row": 0}


def judge(job: Redrive) -> str:
    """Tell why the redrive is to stop, or nothing; lets the next step begin when it may."""
    options, size = job.choices, _size(job)
    failed = job.failed - job.step_began["failed"]
    if failed * 100 > options.stop_failed_percent * size:
        return f"{failed} of {size} failed again, more than {options.stop_failed_percent} %."
    if options.stop_failed_in_row and job.failed_in_row >= options.stop_failed_in_row:
        return f"{job.failed_in_row} in a row failed again."
    may_be_open = 0 if job.step_began["step"] == 0 else size // STRAGGLERS
    if job.moved >= _limit(job) and job.open_outcomes <= may_be_open:
        job.step_began = _counts(job) | {"step": job.step_began["step"] + 1}
        job.step_limit = job.moved + size * GROWTH
    return ""


def room(job: Redrive) -> int:
    """Return how many more the step may send."""
    return _limit(job) - job.moved


def wait(job: Redrive) -> float:
    """Say what the step waits for; returns the seconds until the next look."""
    dead = [warning for one in plans.destinations_of(job) for warning in one.warnings]
    waits = f"Waits for {job.open_outcomes:,} outcomes of {_size(job):,}"
    job.note = f"{waits}. {' '.join(dead)}"[:500].strip() if dead else f"{waits}."
    return REST if dead else POLL_SECONDS


def _size(job: Redrive) -> int:
    size: int = _limit(job) - job.step_began["moved"]
    return size


def _limit(job: Redrive) -> int:
    return job.step_limit or 0


def _counts(job: Redrive) -> dict[str, int]:
    return {**job.step_began, "moved": job.moved, "failed": job.failed}
