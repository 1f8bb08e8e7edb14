"""Where a backlog goes from here: when it is drained, when its messages begin to expire, when its limits are reached.

Estimates from the pace of the last minute and of the last ten; where these differ, so do the estimates, and both are
said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metrics.diagnosis.evidence import Evidence, Flow
from metrics.wording import span

FAR = 2.0
"""What lies farther away than twice the retention is no forecast: hardly anything grows."""


_LIMITS = {
    "max_backlog_messages": "backlog limit",
    "max_backlog_bytes": "limit of bytes",
    "max_oldest_age_seconds": "limit of age",
}


@dataclass(frozen=True)
class Outlook:
    """Seconds from now; None is what does not come at this pace. `drains_least` and `drains_most` bound the drain."""

    draining: bool
    drains_least: float | None
    drains_most: float | None
    """None with `drains_least` set: it drains at the pace of one of the two stretches, and not of the other."""
    expires_in: float | None
    """Until the first messages expire, unless they are taken before."""
    full_in: float | None
    """Until a limit of the queue refuses sends."""
    full_by: str = ""
    """The setting that will refuse first."""

    @property
    def drain_words(self) -> str:
        """ "4 m to 9 m"; "not draining"; empty when nothing waits or nobody knows."""
        if not self.draining:
            return "not draining"
        if self.drains_least is None:
            return ""
        least = span(self.drains_least)
        if self.drains_most is None:
            return f"{least}, or never"
        return least if span(self.drains_most) == least else f"{least} to {span(self.drains_most)}"

    @property
    def sentences(self) -> list[str]:
        """What is worth saying, for a page or a terminal."""
        drains = {"": "", "not draining": "It is not draining."}.get(
            self.drain_words, f"Drained in {self.drain_words}."
        )
        return [
            *filter(None, [drains]),
            *(
                [f"The first messages expire in {span(self.expires_in)} at this pace."]
                if self.expires_in is not None
                else []
            ),
            *([_full(self.full_by, self.full_in)] if self.full_in is not None else []),
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "draining": self.draining,
            "drained_in_seconds_at_least": self.drains_least,
            "drained_in_seconds_at_most": self.drains_most,
            "first_expires_in_seconds": self.expires_in,
            "full_in_seconds": self.full_in,
            "full_by": self.full_by,
        }


def _full(setting: str, seconds: float) -> str:
    reached = f"reached in {span(seconds)}" if seconds else "reached"
    return f"Its {_LIMITS[setting]} ({setting}) is {reached}."


def look_ahead(evidence: Evidence) -> Outlook:
    """What the pace of the last minute and the last ten leads to."""
    flows = [flow for flow in (evidence.minute, evidence.ten_minutes) if flow is not None]
    drains = [_drained_in(evidence.waiting, flow) for flow in flows] if evidence.waiting else []
    known = [seconds for seconds in drains if seconds is not None]
    full_in, full_by = _first_limit(evidence, flows)
    return Outlook(
        draining=bool(known) or not drains,
        drains_least=min(known, default=None),
        drains_most=max(known) if known and len(known) == len(drains) else None,
        expires_in=_expires_in(evidence, max(known) if known and len(known) == len(drains) else None),
        full_in=full_in,
        full_by=full_by,
    )


def _drained_in(waiting: int, flow: Flow) -> float | None:
    """By how much the backlog shrank says more than rates: retries and what comes due are in it."""
    return waiting * flow.seconds / -flow.growth if flow.growth < 0 else None


def _expires_in(evidence: Evidence, drained_in: float | None) -> float | None:
    """The oldest reaches the retention as its age has grown lately; not at all when all is taken before."""
    age, retention = evidence.numbers.oldest_ready_age_seconds, evidence.numbers.queue.retention_seconds
    flow = evidence.ten_minutes or evidence.minute
    if not evidence.waiting or age is None:
        return None
    growing = min(flow.aged_seconds / flow.seconds, 1.0) if flow is not None else 1.0
    if growing <= 0:
        return None
    left = _in_sight(evidence, max(retention - age, 0.0) / growing)
    return left if left is None or drained_in is None or left < drained_in else None


def _in_sight(evidence: Evidence, seconds: float | None) -> float | None:
    """The same, unless it is too far away for a forecast."""
    return None if seconds is None or seconds > FAR * evidence.numbers.queue.retention_seconds else seconds


def _first_limit(evidence: Evidence, flows: list[Flow]) -> tuple[float | None, str]:
    """In how many seconds the first limit on sending is reached, and whose name it has."""
    numbers, queue = evidence.numbers, evidence.numbers.queue
    held = numbers.ready + numbers.waiting + numbers.scheduled + numbers.leased
    surplus = max((flow.in_per_second - flow.out_per_second for flow in flows), default=0.0)
    weighed = numbers.bytes_held or 0
    age = numbers.oldest_ready_age_seconds or 0.0
    aging = max((flow.aged_seconds / flow.seconds for flow in flows), default=0.0)
    reached = {
        "max_backlog_messages": _reached_in(queue.max_backlog_messages, held, surplus),
        "max_backlog_bytes": _reached_in(queue.max_backlog_bytes, weighed, surplus * weighed / held if held else 0.0),
        "max_oldest_age_seconds": _reached_in(queue.max_oldest_age_seconds, age, min(aging, 1.0)),
    }
    known = {name: seconds for name, at in reached.items() if (seconds := _in_sight(evidence, at)) is not None}
    first = min(known, key=known.__getitem__, default="")
    return known.get(first), first


def _reached_in(limit: float, now: float, per_second: float) -> float | None:
    """Seconds until `now` has grown to a limit, of which 0 is none."""
    if not limit or (per_second <= 0 and now < limit):
        return None
    return (limit - now) / per_second if now < limit else 0.0
