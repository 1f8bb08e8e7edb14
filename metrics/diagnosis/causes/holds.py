"""Somebody has told the queue to hold its messages back, or how many it may hand out."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, ruled_out
from metrics.wording import number, plural, span


def paused(evidence: Evidence) -> Suspect:
    """A paused queue hands out nothing, whoever asks."""
    numbers = evidence.numbers
    if not numbers.paused:
        return ruled_out(Cause.PAUSED, "it is not paused")
    if not evidence.waiting:
        return ruled_out(Cause.PAUSED, "it is paused, but nothing is ready that it could hand out")
    held = plural(evidence.waiting, "message")
    if not numbers.queue.paused:
        return _held_by_maintenance(held, evidence.waiting)
    seconds = evidence.paused_seconds
    since = f" for {span(seconds)}" if seconds is not None else ""
    return Suspect(
        Cause.PAUSED,
        found=True,
        sentence=f"It has been paused{since}, and hands out none of the {held} that wait."
        if since
        else f"It is paused, and hands out none of the {held} that wait.",
        short=f"{held} held back.",
        figures=(
            Figure("waiting", evidence.waiting, "held back", held),
            Figure("paused_seconds", seconds, "paused for", span(seconds)),
        ),
        proof=Proof(Page.AUDIT, "who paused it, when and why"),
        advice="Resume it when the reason is gone. What waits keeps its order, and senders may go on meanwhile.",
    )


def _held_by_maintenance(held: str, waiting: int) -> Suspect:
    return Suspect(
        Cause.PAUSED,
        found=True,
        sentence=f"Maintenance holds every queue: it hands out none of the {held} that wait.",
        short=f"{held} held back.",
        figures=(Figure("waiting", waiting, "held back", held),),
        proof=Proof(Page.AUDIT, "what was done to it before"),
        advice="It goes on by itself when maintenance ends; the head of every page says who holds it, and why.",
    )


def in_flight_limit(evidence: Evidence) -> Suspect:
    """As many are in flight as the queue or its tenant allows: more consumers would get none."""
    numbers, free = evidence.numbers, evidence.may_be_in_flight
    if free is None:
        return ruled_out(Cause.QUOTA, "nothing limits how many are in flight")
    if free > 0:
        return ruled_out(Cause.QUOTA, f"{number(free)} more may be in flight")
    if not evidence.waiting:
        return ruled_out(Cause.QUOTA, "nothing is ready")
    limit = numbers.queue.max_in_flight
    own = bool(limit) and numbers.leased >= limit
    whose = f"its limit of {number(limit)} (max_in_flight)" if own else f"the limit of its tenant {numbers.tenant}"
    return Suspect(
        Cause.QUOTA,
        found=True,
        sentence=f"{number(numbers.leased)} are in flight, and {whose} is reached; {number(evidence.waiting)} wait.",
        short=f"In flight up to {whose}.",
        figures=(
            Figure("in_flight", numbers.leased, "in flight", number(numbers.leased)),
            Figure("max_in_flight", limit, "allowed for the queue", number(limit) if limit else "no limit"),
        ),
        proof=Proof(Page.SETTINGS if own else Page.TENANT, "the limit"),
        advice="If what is behind it can take more, raise the limit; if not, it does what it is there for, and the"
        " backlog is the price.",
    )


def closed(evidence: Evidence) -> Suspect:
    """It is being emptied on purpose."""
    numbers = evidence.numbers
    if not numbers.closed or not evidence.waiting:
        return ruled_out(Cause.CLOSED, "it is open" if not numbers.closed else "nothing is ready")
    left = plural(evidence.waiting, "message")
    return Suspect(
        Cause.CLOSED,
        found=True,
        sentence=f"It is closed: it accepts no more, and hands out the {left} that it has.",
        short=f"{left} to hand out before it is empty.",
        figures=(Figure("waiting", evidence.waiting, "left", left),),
        proof=Proof(Page.SETTINGS, "that it is closed"),
        advice="Wait until it is empty, or open it again.",
    )
