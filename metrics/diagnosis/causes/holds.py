"""Somebody has told the queue to hold its messages back."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, ruled_out
from metrics.wording import plural, span


def paused(evidence: Evidence) -> Suspect:
    """A paused queue hands out nothing, whoever asks."""
    numbers = evidence.numbers
    if not numbers.paused:
        return ruled_out(Cause.PAUSED, "it is not paused")
    held = plural(evidence.waiting, "message")
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
