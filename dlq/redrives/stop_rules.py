"""Stop rules: a redrive pauses itself when too large a share of what it sent fails again, or too many in a row.

With a canary the share is that of a step. Without one it is that of all known outcomes, and counts from ten on.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlq.jobs.models import Redrive

LEAST_OUTCOMES = 10
"""Without a canary a share of fewer outcomes than these stops nothing."""


@dataclass(frozen=True)
class StopRule:
    """One rule of a redrive: its condition in words, the value at this moment, and whether the rule applies."""

    words: str
    value: str
    applies: bool
    because: str = ""
    """The reason for the pause, as a sentence."""


def broken(job: Redrive) -> str:
    """Return why the redrive must pause; empty while no rule applies."""
    return next((rule.because for rule in rules_of(job) if rule.applies), "")


def rules_of(job: Redrive) -> list[StopRule]:
    """Return the rules of a redrive with their present values."""
    options = job.choices
    rules = [_share(job, options.stop_failed_percent)] if options.stop_failed_percent < 100 else []
    return rules + ([_in_row(job, options.stop_failed_in_row)] if options.stop_failed_in_row else [])


def _share(job: Redrive, percent: int) -> StopRule:
    failed, of = _failed(job)
    counts = job.step_limit is not None or of >= LEAST_OUTCOMES
    value = f"{failed * 100 / of:.1f}".removesuffix(".0") + " %" if of else "0 %"
    because = f"{failed:,} of {of:,} failed again, more than {percent} %."
    return StopRule(f"more than {percent} % fail again", value, counts and failed * 100 > percent * of, because)


def _failed(job: Redrive) -> tuple[int, int]:
    """Return (failures, messages), whose ratio the rule compares: of the current step, or of all known outcomes."""
    began = job.step_began
    of = job.settled - began.get("settled", 0) if job.step_limit is None else job.step_limit - began["moved"]
    return job.failed - began.get("failed", 0), of


def _in_row(job: Redrive, limit: int) -> StopRule:
    because = f"{job.failed_in_row:,} in a row failed again."
    return StopRule(f"{limit:,} in a row fail again", f"{job.failed_in_row:,}", job.failed_in_row >= limit, because)
