"""Canary: the first messages of a redrive. The others wait for their outcomes, and go in steps that double.

The second step begins when all outcomes of the canary are known; a later one when nine in ten outcomes of the step
before are known, because one slow message must not hold the others. The redrive pauses itself when a stop rule applies
to a step.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dlq.jobs.models import Redrive
from dlq.jobs.runner import REST
from dlq.redrives import plans, stop_rules
from dlq.redrives.plan_options import Options
from queues import bulk_verbs

POLL_SECONDS = 0.5
LONGEST_WAIT = timedelta(hours=24)
"""Longest wait of a step for its outcomes; then the redrive pauses itself."""
GROWTH = 2
# Of a later step, one in STRAGGLERS messages may be open when the next begins.
STRAGGLERS = 10


def first_step(options: Options, canaries: list[int]) -> dict[str, Any]:
    """Return the fields of a redrive that begins; without a canary there are no steps."""
    size = options.canary_size(len(canaries))
    if not size:
        return {}
    began = {"step": 0, "moved": 0, "failed": 0, "gone": 0}
    return {"step_limit": size, "step_began": began, "canaries": canaries, "canary": {"size": size}}


def same_step_again(job: Redrive) -> dict[str, Any]:
    """Return the fields of a redrive that is resumed: the stop rules count what it sends from now on."""
    began = _counts(job) | {"judged_after": bulk_verbs.newest_redriven()}
    if job.step_limit is None:
        return {"step_began": began | {"settled": job.settled}, "failed_in_row": 0}
    step: dict[str, Any] = {"step_limit": job.moved + _size(job), "step_began": began, "failed_in_row": 0}
    return step | ({"canary": {"size": _size(job)}} if is_first_step(job) else {})


def judge(job: Redrive, now: datetime) -> str:
    """Return why the redrive must stop; empty when it continues. Begins the next step when the outcomes allow it."""
    because = stop_rules.broken(job)
    if job.step_limit is None:
        return because
    if because:
        _note_verdict(job, now, passed=False)
        return because
    if not room(job):
        job.step_began.setdefault("full_at", now.isoformat())
        may_be_open = 0 if is_first_step(job) else _size(job) // STRAGGLERS
        if job.open_outcomes <= may_be_open:
            _begin_next_step(job, now)
        elif seconds_waited(job, now) > LONGEST_WAIT.total_seconds():
            return _waited_too_long(job)
    return ""


def _waited_too_long(job: Redrive) -> str:
    hours = LONGEST_WAIT // timedelta(hours=1)
    return f"{job.open_outcomes:,} of {_size(job):,} outcomes were still unknown after {hours} hours."


def _begin_next_step(job: Redrive, now: datetime) -> None:
    size = _size(job)
    job.canary["wait_seconds"] = seconds_waited(job, now)
    _note_verdict(job, now, passed=True)
    job.step_began = _counts(job) | {"step": job.step_began["step"] + 1}
    job.step_limit = job.moved + size * GROWTH


def _note_verdict(job: Redrive, now: datetime, *, passed: bool) -> None:
    """Save the outcome of the canary in the job. Later steps have no verdict of their own."""
    if not is_first_step(job):
        return
    failed, gone = job.failed - job.step_began["failed"], job.gone - job.step_began.get("gone", 0)
    succeeded = max(0, job.moved - job.step_began["moved"] - job.open_outcomes - failed - gone)
    counts = {"succeeded": succeeded, "failed": failed, "gone": gone}
    job.canary |= {"passed": passed, "seconds": seconds_waited(job, now), **counts}


def is_first_step(job: Redrive) -> bool:
    """Tell whether the current step is the canary."""
    return job.step_limit is not None and job.step_began["step"] == 0


def is_waiting(job: Redrive) -> bool:
    """Tell whether the step has been sent and waits for outcomes."""
    return job.step_limit is not None and not room(job)


def seconds_waited(job: Redrive, now: datetime) -> float:
    """Return how long the step has waited for outcomes since its last message was sent."""
    full_at = job.step_began.get("full_at")
    return max(0.0, (now - datetime.fromisoformat(full_at)).total_seconds()) if full_at else 0.0


def room(job: Redrive) -> int:
    """Return how many more messages the step may send."""
    return _limit(job) - job.moved


def wait(job: Redrive) -> float:
    """Note the outcomes for which the step waits, and return the seconds until the next check."""
    dead = [warning for one in plans.destinations_of(job) for warning in one.warnings]
    waits = f"Waiting for {job.open_outcomes:,} of {_size(job):,} outcomes."
    job.note = f"{waits} {' '.join(dead)}"[:500].strip()
    return REST if dead else POLL_SECONDS


def _size(job: Redrive) -> int:
    size: int = _limit(job) - job.step_began["moved"]
    return size


def _limit(job: Redrive) -> int:
    return job.step_limit or 0


def _counts(job: Redrive) -> dict[str, Any]:
    """Return the counts of the job at the beginning of the next step."""
    kept = {name: value for name, value in job.step_began.items() if name != "full_at"}
    return {**kept, "moved": job.moved, "failed": job.failed, "gone": job.gone}
