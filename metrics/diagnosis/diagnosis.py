"""The diagnosis of one queue from its evidence, with forecasts. It is a pure function.

Forecasts say when a backlog is drained, when its messages begin to expire, and when its limits are reached. Each uses
the rates of the last minute and those of the last ten minutes; where these differ, both are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metrics.diagnosis.causes import CAUSES
from metrics.diagnosis.evidence import Evidence, Flow
from metrics.diagnosis.suspects import Cause, Suspect, speed
from metrics.diagnosis.thresholds import BACKLOG_SECONDS
from metrics.wording import plural, span

FAR = 2.0
"""Forecasts beyond this many times the retention are left out: such slow growth is not worth a forecast."""

_LIMITS = {
    "max_backlog_messages": "backlog limit",
    "max_backlog_bytes": "limit of bytes",
    "max_oldest_age_seconds": "limit of age",
}


@dataclass(frozen=True)
class Outlook:
    """Forecasts in seconds from now; None for an event that does not come at this rate."""

    draining: bool
    drains_least: float | None
    drains_most: float | None
    """None with `drains_least` set: the backlog drains only at the rate of one of the two periods."""
    expires_in: float | None
    """Seconds until the first messages expire."""
    full_in: float | None
    """Seconds until a limit of the queue refuses sends."""
    full_by: str = ""
    """The setting that will refuse first."""
    minutes: int = 1
    """The longest period whose rate was used."""

    @property
    def drain_words(self) -> str:
        """The time to drain, such as "4 m to 9 m" or "not draining"; empty when no message waits or it is unknown."""
        if not self.draining:
            return "not draining"
        if self.drains_least is None:
            return ""
        least = span(self.drains_least)
        if self.drains_most is None:
            return f"at least {least}"
        return least if span(self.drains_most) == least else f"{least} to {span(self.drains_most)}"

    @property
    def period(self) -> str:
        """The period of the rates, such as "the last 10 m"."""
        return f"the last {span(self.minutes * 60)}"

    @property
    def sentences(self) -> list[str]:
        """The forecasts as sentences, for a page or a terminal."""
        sentences = []
        if self.drain_words:
            still = f"It is not draining: over {self.period} the backlog has not become smaller."
            drained = f"Drained in {self.drain_words} at the rates of {self.period}."
            sentences.append(drained if self.draining else still)
        if self.expires_in is not None:
            sentences.append(f"The first messages expire in {span(self.expires_in)} at this rate.")
        if self.full_in is not None:
            reached = f"reached in {span(self.full_in)}" if self.full_in else "reached"
            sentences.append(f"Its {_LIMITS[self.full_by]} ({self.full_by}) is {reached}.")
        return sentences

    def as_dict(self) -> dict[str, Any]:
        return {
            "draining": self.draining,
            "drained_in_seconds_at_least": self.drains_least,
            "drained_in_seconds_at_most": self.drains_most,
            "first_expires_in_seconds": self.expires_in,
            "full_in_seconds": self.full_in,
            "full_by": self.full_by,
        }


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of one queue: the causes found, the worst first, and those ruled out."""

    queue: str
    backlog: bool
    sentence: str
    short: str
    """A sentence for a list of queues; empty without a backlog."""
    found: tuple[Suspect, ...]
    ruled_out: tuple[Suspect, ...]
    advice: str
    outlook: Outlook

    @property
    def main(self) -> Suspect | None:
        return self.found[0] if self.found else None

    @property
    def cause(self) -> Cause | None:
        """The main cause; None without a backlog, and where no cause is clear."""
        return self.main.cause if self.main else None

    @property
    def also(self) -> tuple[Suspect, ...]:
        return self.found[1:]

    def as_dict(self) -> dict[str, Any]:
        """Return a document for programs."""
        return {
            "queue": self.queue,
            "backlog": self.backlog,
            "cause": self.cause.value if self.cause else None,
            "sentence": _plain(self.sentence),
            "advice": self.advice,
            "found": [_found_as_dict(suspect) for suspect in self.found],
            "ruled_out": {suspect.cause.value: _plain(suspect.sentence) for suspect in self.ruled_out},
            "outlook": self.outlook.as_dict(),
        }


def diagnose(evidence: Evidence) -> Diagnosis:
    """Say why this queue has a backlog, that it has none, or that the cause is not clear."""
    outlook = look_ahead(evidence)
    name = evidence.numbers.name
    if not has_backlog(evidence):
        return Diagnosis(name, False, "No backlog.", "", (), (), "", outlook)
    suspects = [cause(evidence) for cause in CAUSES]
    found = tuple(suspect for suspect in suspects if suspect.found)
    ruled_out = tuple(suspect for suspect in suspects if not suspect.found)
    if not found:
        return _not_clear(evidence, ruled_out, outlook)
    main = found[0]
    return Diagnosis(name, True, main.sentence, main.short, found, ruled_out, main.advice, outlook)


def has_backlog(evidence: Evidence) -> bool:
    """Tell whether messages wait too long, here or upstream, without a consumer, or until they are due."""
    numbers = evidence.numbers
    if numbers.is_dead_letter_queue:
        return False
    if evidence.slowest_feed is not None:
        return True
    flows = evidence.minute is not None and evidence.minute.delivered > 0
    if not evidence.waiting:  # where deliveries go on, delayed messages are received next
        return bool(numbers.scheduled) and not flows
    oldest = max(numbers.oldest_ready_age_seconds or 0.0, evidence.lanes.oldest_seconds)
    stands = not numbers.ready and not numbers.leased and not flows
    return oldest >= BACKLOG_SECONDS or numbers.paused or not numbers.consumers or stands


def _not_clear(evidence: Evidence, ruled_out: tuple[Suspect, ...], outlook: Outlook) -> Diagnosis:
    numbers = evidence.numbers
    sentence = (
        f"Not clear: {plural(evidence.waiting, 'message')} wait, the oldest for"
        f" {span(max(numbers.oldest_ready_age_seconds or 0.0, evidence.lanes.oldest_seconds))};"
        f" {speed(numbers.in_per_second)} arrive and {speed(numbers.out_per_second)} leave."
    )
    busy = numbers.consumers and numbers.leased >= numbers.consumers
    advice = (
        f"All consumers have work in hand: {numbers.leased} in flight with {plural(numbers.consumers, 'consumer')}."
        " More workers may be enough."
        if busy
        else "Compare the charts with what was deployed or sent when the backlog began to grow."
    )
    return Diagnosis(numbers.name, True, sentence, "No cause found yet.", (), ruled_out, advice, outlook)


def _found_as_dict(suspect: Suspect) -> dict[str, Any]:
    return {
        "cause": suspect.cause.value,
        "sentence": _plain(suspect.sentence),
        "numbers": {figure.name: figure.value for figure in suspect.figures},
        "proof": {"page": suspect.proof.page.value, "search": suspect.proof.search} if suspect.proof else None,
        "advice": suspect.advice,
    }


def _plain(text: str) -> str:
    """Replace no-break spaces, which programs and terminals do not need."""
    return text.replace("\u00a0", " ")


def look_ahead(evidence: Evidence) -> Outlook:
    """Compute the forecasts from the rates of the last minute and of the last ten."""
    flows = [flow for flow in (evidence.minute, evidence.ten_minutes) if flow is not None]
    drains = [_drained_in(evidence.waiting, flow) for flow in flows] if evidence.waiting else []
    known = [seconds for seconds in drains if seconds is not None]
    most = max(known) if known and len(known) == len(drains) else None
    draining, least = bool(known) or not drains, min(known, default=None)
    minutes = 10 if evidence.ten_minutes else 1
    return Outlook(draining, least, most, _expires_in(evidence, most), *_first_limit(evidence, flows), minutes=minutes)


def _drained_in(waiting: int, flow: Flow) -> float | None:
    """Compute the time to drain from the change of the backlog, which includes retries and messages that became due."""
    return waiting * flow.seconds / -flow.growth if flow.growth < 0 else None


def _expires_in(evidence: Evidence, drained_in: float | None) -> float | None:
    """Compute when the oldest message reaches the retention; None when the backlog drains before."""
    age, retention = evidence.numbers.oldest_ready_age_seconds, evidence.numbers.queue.retention_seconds
    flow = evidence.recent
    if not evidence.waiting or age is None:
        return None
    growing = min(flow.aged_seconds / flow.seconds, 1.0) if flow is not None else 1.0
    if growing <= 0:
        return None
    left = _in_sight(evidence, max(retention - age, 0.0) / growing)
    return left if left is None or drained_in is None or left < drained_in else None


def _in_sight(evidence: Evidence, seconds: float | None) -> float | None:
    """Return the seconds, or None when they are too far away for a forecast."""
    return None if seconds is None or seconds > FAR * evidence.numbers.queue.retention_seconds else seconds


def _first_limit(evidence: Evidence, flows: list[Flow]) -> tuple[float | None, str]:
    """Find the first limit on sending that is reached: in how many seconds, and its name."""
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
    known = {name: seconds for name, each in reached.items() if (seconds := _in_sight(evidence, each)) is not None}
    first = min(known, key=known.__getitem__, default="")
    return known.get(first), first


def _reached_in(limit: float, value: float, per_second: float) -> float | None:
    """Compute the seconds until a value reaches its limit; None without a limit (0) or without growth."""
    if not limit or (per_second <= 0 and value < limit):
        return None
    return (limit - value) / per_second if value < limit else 0.0
