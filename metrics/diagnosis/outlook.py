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
"""What lies farther away than twice the retention is no forecast: the age of the oldest hardly grows."""


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
    """Until max_backlog_messages refuses sends."""

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
            *([_full(self.full_in)] if self.full_in is not None else []),
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "draining": self.draining,
            "drained_in_seconds_at_least": self.drains_least,
            "drained_in_seconds_at_most": self.drains_most,
            "first_expires_in_seconds": self.expires_in,
            "full_in_seconds": self.full_in,
        }


def _full(seconds: float) -> str:
    if not seconds:
        return "Its backlog limit (max_backlog_messages) is reached."
    return f"Its backlog limit (max_backlog_messages) is reached in {span(seconds)}."


def look_ahead(evidence: Evidence) -> Outlook:
    """What the pace of the last minute and the last ten leads to."""
    flows = [flow for flow in (evidence.minute, evidence.ten_minutes) if flow is not None]
    drains = [_drained_in(evidence.waiting, flow) for flow in flows] if evidence.waiting else []
    known = [seconds for seconds in drains if seconds is not None]
    return Outlook(
        draining=bool(known) or not drains,
        drains_least=min(known, default=None),
        drains_most=max(known) if known and len(known) == len(drains) else None,
        expires_in=_expires_in(evidence, max(known) if known and len(known) == len(drains) else None),
        full_in=_full_in(evidence, flows),
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
    left = max(retention - age, 0.0) / growing
    if left > FAR * retention:
        return None
    return left if drained_in is None or left < drained_in else None


def _full_in(evidence: Evidence, flows: list[Flow]) -> float | None:
    limit, numbers = evidence.numbers.queue.max_backlog_messages, evidence.numbers
    held = numbers.ready + numbers.waiting + numbers.scheduled + numbers.leased
    surplus = max((flow.in_per_second - flow.out_per_second for flow in flows), default=0.0)
    if not limit or (surplus <= 0 and held < limit):
        return None
    return 0.0 if held >= limit else (limit - held) / surplus
