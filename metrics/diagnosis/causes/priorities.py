"""Priorities: do the lower ones starve?"""

from __future__ import annotations

from metrics.diagnosis.evidence import Band, Evidence
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, ruled_out
from metrics.diagnosis.thresholds import STARVED_FACTOR, STARVED_SECONDS
from metrics.wording import number, span


def priority_starvation(evidence: Evidence) -> Suspect:
    """A lower priority waits many times as long as a higher one, which takes all the consumers' time."""
    bands, recent = evidence.bands, evidence.recent
    if len(bands) < 2:
        return ruled_out(Cause.PRIORITY_STARVATION, "all that is ready has one priority")
    starved, fed = max(bands, key=lambda band: band.seconds), bands[0]
    if starved.priority >= fed.priority or starved.seconds < max(STARVED_SECONDS, STARVED_FACTOR * fed.seconds):
        waits = ", ".join(f"{band.priority} for {span(band.seconds)}" for band in bands)
        return ruled_out(Cause.PRIORITY_STARVATION, f"priorities wait alike: {waits}")
    if recent is None or not recent.delivered:
        return ruled_out(Cause.PRIORITY_STARVATION, "no priority is delivered")
    return _found(evidence, starved, fed)


def _found(evidence: Evidence, starved: Band, fed: Band) -> Suspect:
    waits = ", ".join(f"priority {band.priority} waits for {span(band.seconds)}" for band in (starved, fed))
    aging = evidence.numbers.queue.aging_seconds
    return Suspect(
        Cause.PRIORITY_STARVATION,
        found=True,
        sentence=f"Lower priorities starve: {waits}, and consumers take the higher first.",
        short=f"Lower priorities starve: {waits}.",
        figures=(
            Figure("starved_priority", starved.priority, "starving", f"priority {starved.priority}"),
            Figure("starved_seconds", starved.seconds, "it waits", span(starved.seconds)),
            Figure("fed_priority", fed.priority, "ahead of it", f"priority {fed.priority}"),
            Figure("fed_seconds", fed.seconds, "that waits", span(fed.seconds)),
            Figure("aging_seconds", aging, "aging", f"{number(aging)} s a priority" if aging else "off"),
        ),
        proof=Proof(Page.READY, "what is ready, by priority"),
        advice="Shorten aging_seconds, so that waiting lifts a message sooner; or add workers, or send less with a high"
        " priority. With aging_seconds at 0 the higher always goes first.",
    )
