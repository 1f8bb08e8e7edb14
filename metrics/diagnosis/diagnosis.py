"""Evidence in, one diagnosis out: pure, total and the same each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metrics.diagnosis.causes import CAUSES
from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.outlook import Outlook, look_ahead
from metrics.diagnosis.suspects import Cause, Suspect
from metrics.diagnosis.suspects import pace as per
from metrics.diagnosis.thresholds import BACKLOG_SECONDS
from metrics.wording import plural, span


@dataclass(frozen=True)
class Diagnosis:
    """Why one queue has a backlog: what was found, the worst first, and what was ruled out."""

    queue: str
    backlog: bool
    sentence: str
    short: str
    """For a row among many; empty without a backlog."""
    found: tuple[Suspect, ...]
    ruled_out: tuple[Suspect, ...]
    advice: str
    outlook: Outlook

    @property
    def main(self) -> Suspect | None:
        return self.found[0] if self.found else None

    @property
    def cause(self) -> Cause | None:
        """None without a backlog, and where it is not clear."""
        return self.found[0].cause if self.found else None

    @property
    def also(self) -> tuple[Suspect, ...]:
        return self.found[1:]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
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
    """Say why this queue has a backlog, or that it has none, or that it is not clear."""
    outlook = look_ahead(evidence)
    if not has_backlog(evidence):
        return Diagnosis(evidence.numbers.name, False, "No backlog.", "", (), (), "", outlook)
    suspects = [cause(evidence) for cause in CAUSES]
    found = tuple(suspect for suspect in suspects if suspect.found)
    ruled_out = tuple(suspect for suspect in suspects if not suspect.found)
    if not found:
        return _not_clear(evidence, ruled_out, outlook)
    return Diagnosis(
        evidence.numbers.name, True, found[0].sentence, found[0].short, found, ruled_out, found[0].advice, outlook
    )


def has_backlog(evidence: Evidence) -> bool:
    """Something waits: for a while already, with nobody who could take it, or until it is due."""
    numbers = evidence.numbers
    if numbers.is_dead_letter_queue:
        return False
    flows = evidence.minute is not None and evidence.minute.delivered > 0
    if not evidence.waiting:  # where deliveries go on, what rests is on its way
        return bool(numbers.scheduled) and not flows
    oldest = max(numbers.oldest_ready_age_seconds or 0.0, evidence.lanes.oldest_seconds)
    stands = not numbers.ready and not numbers.leased and not flows
    return oldest >= BACKLOG_SECONDS or numbers.paused or not numbers.consumers or stands


def _not_clear(evidence: Evidence, ruled_out: tuple[Suspect, ...], outlook: Outlook) -> Diagnosis:
    numbers = evidence.numbers
    sentence = (
        f"Not clear: {plural(evidence.waiting, 'message')} wait, the oldest for"
        f" {span(max(numbers.oldest_ready_age_seconds or 0.0, evidence.lanes.oldest_seconds))};"
        f" {per(numbers.in_per_second)} arrive and {per(numbers.out_per_second)} leave."
    )
    busy = numbers.consumers and numbers.leased >= numbers.consumers
    advice = (
        f"All consumers have work in hand: {numbers.leased} in flight with {plural(numbers.consumers, 'consumer')}."
        " More workers may be all it needs."
        if busy
        else "Compare the charts with what was deployed or sent when it began to grow."
    )
    return Diagnosis(numbers.name, True, sentence, "Why messages wait is not clear.", (), ruled_out, advice, outlook)


def _found_as_dict(suspect: Suspect) -> dict[str, Any]:
    return {
        "cause": suspect.cause.value,
        "sentence": _plain(suspect.sentence),
        "numbers": {figure.name: figure.value for figure in suspect.figures},
        "proof": {"page": suspect.proof.page.value, "search": suspect.proof.search} if suspect.proof else None,
        "advice": suspect.advice,
    }


def _plain(text: str) -> str:
    """Without the spaces that must not break: programs and terminals have no use for them."""
    return text.replace("\u00a0", " ")
