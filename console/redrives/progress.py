"""Progress of a redrive for its page: phases, outcomes as one bar, stop rules, and the time that is left.

A message that was sent has not succeeded yet, so nothing here counts a sent message as done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.safestring import SafeString

from console.charts.sparklines import Part, state_bar
from console.web.wording import number, plural, span
from dlq.jobs.models import Job, Redrive
from dlq.redrives import canary, stop_rules
from dlq.redrives.eta import eta
from dlq.redrives.stop_rules import StopRule

# Word of the address: (code of the engine, field of the redrive, words, tone of the bar).
OUTCOMES = {
    "succeeded": ("a", "succeeded", "succeeded", "ok"),
    "open": (None, "open_outcomes", "waiting or in flight", "leased"),
    "same": ("s", "failed_same", "failed again, same error", "dead"),
    "new": ("n", "failed_new", "failed again, new error", "dead"),
    "gone": ("g", "gone", "purged or expired", "waiting"),
}
ALWAYS_SHOWN = ("succeeded", "open", "same")


@dataclass(frozen=True)
class Phase:
    """One phase of a redrive. `state` is todo, now, done or bad."""

    name: str
    state: str
    words: str = ""


@dataclass(frozen=True)
class RedriveProgress:
    """Progress of a redrive as its page shows it."""

    phases: Sequence[Phase]
    parts: Sequence[Part]
    rules: Sequence[StopRule]
    sent_percent: int | None
    completed_percent: int | None
    sent_all: bool
    note: str
    """The note of the job without the wait for outcomes, which the phases show."""

    @property
    def bar(self) -> SafeString:
        return state_bar(self.parts)

    @property
    def too_late(self) -> bool:
        """Tell whether a stop rule applies after all messages were sent, when it can stop nothing."""
        return self.sent_all and any(rule.applies for rule in self.rules)

    @property
    def now(self) -> Phase:
        """The current phase of the redrive, or the last phase if none is current."""
        return next((phase for phase in self.phases if phase.state in ("now", "bad")), self.phases[-1])


def read(job: Redrive, now: datetime) -> RedriveProgress:
    """Read the progress from the counters of the job's row."""
    expected = job.total_estimate - job.skipped if job.total_is_exact else 0
    return RedriveProgress(
        phases=_phases(job, now),
        parts=_parts(job),
        rules=stop_rules.rules_of(job),
        sent_percent=_percent(job.moved, expected),
        completed_percent=_percent(job.settled, expected),
        sent_all=job.state == Job.State.DONE,
        note=job.note.partition(" outcomes.")[2].strip() if job.note.startswith("Waiting for ") else job.note,
    )


def _percent(part: int, whole: int) -> int | None:
    return min(100, int(part * 100 / whole)) if whole > 0 else None


def _parts(job: Redrive) -> list[Part]:
    """List outcomes, skipped messages, and messages that are not sent yet."""
    found = []
    for slug, (_, field, words, tone) in OUTCOMES.items():
        if (count := getattr(job, field)) or slug in ALWAYS_SHOWN:
            found.append(Part(words, count, tone, f"{reverse('redrive_messages', args=[job.pk])}?outcome={slug}"))
    if job.skipped:
        found.append(Part("skipped", job.skipped, "scheduled"))
    left = max(0, job.total_estimate - job.handled) if job.total_is_exact else 0
    return [*found, Part("to send", left, "none")] if left else found


def _phases(job: Redrive, now: datetime) -> list[Phase]:
    first = [_canary(job)] if has_canary(job) else []
    return [*first, _sending(job, now), _outcomes(job), _end(job)]


def has_canary(job: Redrive) -> bool:
    """Tell whether other messages wait for the canary: a canary of the whole selection holds none."""
    size = job.canary.get("size", 0)
    return bool(size) and not (job.total_is_exact and size >= job.total_estimate)


def _canary(job: Redrive) -> Phase:
    size, verdict = job.canary["size"], job.canary
    if (passed := verdict.get("passed")) is not None:
        took = f" in {span(verdict['seconds'])}" if passed and verdict["seconds"] >= 1 else ""
        if passed:
            return Phase("Canary passed", "done", f"{verdict['succeeded']:,} of {size:,} succeeded{took}")
        return Phase("Canary failed", "bad", f"{verdict['failed']:,} of {size:,} failed again")
    if not job.started_at or job.state in (Job.State.PENDING, Job.State.AWAITING):
        return Phase("Canary", "todo", f"{plural(size, 'message')} first")
    state = "now" if job.is_active else "todo"
    if canary.is_waiting(job):
        return Phase("Canary", state, f"waiting for {job.open_outcomes:,} of {size:,} outcomes")
    return Phase("Canary", state, f"sent {size - canary.room(job):,} of {size:,}")


def _sending(job: Redrive, now: datetime) -> Phase:
    total = number(job.total_estimate) + ("" if job.total_is_exact else "+")
    sent = f"{number(job.moved)} of {total} sent"
    if job.state == Job.State.DONE:
        return Phase("Sending", "done", f"{plural(job.moved, 'message')} sent")
    in_canary = has_canary(job) and job.canary.get("passed") is not True
    if not job.is_active or in_canary:
        return Phase("Sending", "todo", sent if job.moved else "")
    rate = f" · {job.rate_per_second:,}/s" if job.rate_per_second else ""
    waits = f" · waiting for {number(job.open_outcomes)} outcomes" if canary.is_waiting(job) else ""
    return Phase("Sending", "now" if job.started_at else "todo", sent + rate + waits + _left(job, now))


def _left(job: Redrive, now: datetime) -> str:
    """Say how long the rest takes, with the waits for outcomes."""
    estimate = eta(job, now) if job.state != Job.State.PAUSED else None
    if estimate is None:
        return ""
    return f" · {'at least' if estimate.at_least else 'about'} {span(estimate.seconds)} left"


def _outcomes(job: Redrive) -> Phase:
    known = f"{number(job.settled)} of {number(job.moved)} known"
    if job.is_active or job.is_awaiting:
        return Phase("Outcomes", "todo", known if job.moved else "")
    if job.open_outcomes:
        return Phase("Outcomes", "now" if job.watching else "todo", f"waiting for {job.open_outcomes:,}")
    return Phase("Outcomes", "done", f"all {number(job.moved)} are known" if job.moved else "")


ENDS = {
    Job.State.FAILED: ("Failed", "bad"),
    Job.State.CANCELLED: ("Cancelled", "bad"),
    Job.State.REFUSED: ("Refused", "bad"),
    Job.State.EXPIRED: ("Expired", "bad"),
}


def _end(job: Redrive) -> Phase:
    if job.state in ENDS:
        return Phase(*ENDS[Job.State(job.state)])
    over = job.state == Job.State.DONE and not job.open_outcomes
    words = f"{job.failed:,} failed again" if over and job.failed else ""
    return Phase("Done", "done" if over else "todo", words)
