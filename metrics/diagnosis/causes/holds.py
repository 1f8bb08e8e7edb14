"""Intended causes: a person paused or closed the queue, or limited its messages in flight."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, suspect
from metrics.wording import number, plural, span


@suspect(Cause.PAUSED)
def paused(evidence: Evidence) -> Found | str:
    """Suspect a pause: a paused queue hands out no message."""
    numbers = evidence.numbers
    if not numbers.paused:
        return "it is not paused"
    if not evidence.waiting:
        return "it is paused, but nothing is ready that it could hand out"
    held = plural(evidence.waiting, "message")
    if not numbers.queue.paused:
        return _held_by_maintenance(held, evidence.waiting)
    seconds = evidence.paused_seconds
    is_paused = "is paused" if seconds is None else f"has been paused for {span(seconds)}"
    return Found(
        sentence=f"It {is_paused}, and hands out none of the {held} that wait.",
        short=f"{held} held back.",
        figures=(
            Figure("waiting", evidence.waiting, "held back", held),
            Figure("paused_seconds", seconds, "paused for", span(seconds)),
        ),
        proof=Proof(Page.AUDIT, "who paused it, when and why"),
        advice="Resume it when the reason is gone. Waiting messages keep their order, and senders may go on.",
    )


def _held_by_maintenance(held: str, waiting: int) -> Found:
    return Found(
        sentence=f"Maintenance holds every queue: it hands out none of the {held} that wait.",
        short=f"{held} held back.",
        figures=(Figure("waiting", waiting, "held back", held),),
        proof=Proof(Page.AUDIT, "earlier changes of the queue"),
        advice="Deliveries continue when maintenance ends. The top of every page says who started it, and why.",
    )


@suspect(Cause.QUOTA)
def in_flight_limit(evidence: Evidence) -> Found | str:
    """Suspect the limit of messages in flight: when it is reached, more consumers get no message."""
    numbers, free = evidence.numbers, evidence.may_be_in_flight
    if free is None:
        return "nothing limits how many are in flight"
    if free > 0:
        return f"{number(free)} more may be in flight"
    if not evidence.waiting:
        return "nothing is ready"
    limit = numbers.queue.max_in_flight
    own = bool(limit) and numbers.leased >= limit
    whose = f"its limit of {number(limit)} (max_in_flight)" if own else f"the limit of its tenant {numbers.tenant}"
    return Found(
        sentence=f"{number(numbers.leased)} are in flight, and {whose} is reached; {number(evidence.waiting)} wait.",
        short=f"In flight up to {whose}.",
        figures=(
            Figure("in_flight", numbers.leased, "in flight", number(numbers.leased)),
            Figure("max_in_flight", limit, "allowed for the queue", number(limit) if limit else "no limit"),
        ),
        proof=Proof(Page.SETTINGS if own else Page.TENANT, "the limit"),
        advice="Raise the limit if the systems that the consumers use can take more load. Otherwise the limit protects"
        " them, and the backlog is its price.",
    )


@suspect(Cause.CLOSED)
def closed(evidence: Evidence) -> Found | str:
    """Suspect a closed queue: it delivers its messages and accepts no new ones."""
    numbers = evidence.numbers
    if not numbers.closed or not evidence.waiting:
        return "it is open" if not numbers.closed else "nothing is ready"
    left = plural(evidence.waiting, "message")
    return Found(
        sentence=f"It is closed: it accepts no more, and hands out the {left} that it has.",
        short=f"{left} to hand out before it is empty.",
        figures=(Figure("waiting", evidence.waiting, "left", left),),
        proof=Proof(Page.SETTINGS, "the setting that closes it"),
        advice="Wait until it is empty, or open it again.",
    )
