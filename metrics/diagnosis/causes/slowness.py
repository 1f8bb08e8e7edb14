"""Those who take the messages: are they slower, or fewer, than they were?"""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence, Work
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, percent, ruled_out
from metrics.diagnosis.thresholds import FAILING_SHARE, FELL_SHARE
from metrics.wording import number, plural, span


def slow_consumers(evidence: Evidence) -> Suspect:
    """The work takes much longer than it did, and every consumer has some in hand."""
    numbers, work, recent = evidence.numbers, evidence.work, evidence.recent
    factor = work.factor
    if not evidence.waiting:
        return ruled_out(Cause.SLOW_CONSUMERS, "nothing is ready")
    if factor is None:
        return ruled_out(Cause.SLOW_CONSUMERS, f"too little work was done to compare: {acks(work)}")
    if not work.slower:
        return ruled_out(Cause.SLOW_CONSUMERS, f"work takes {took(work.median)}, {took(work.median_before)} before")
    if recent is not None and recent.failing >= FAILING_SHARE:
        return ruled_out(
            Cause.SLOW_CONSUMERS, f"work takes longer, but {percent(recent.failing)} of deliveries fail as well"
        )
    if not numbers.consumers or numbers.leased < numbers.consumers:
        in_hand = f"{plural(numbers.consumers, 'consumer')} with {number(numbers.leased)} in flight"
        return ruled_out(Cause.SLOW_CONSUMERS, f"not every consumer is busy: {in_hand}")
    longer = f"{took(work.median)} now, {took(work.median_before)} before"
    return Suspect(
        Cause.SLOW_CONSUMERS,
        found=True,
        sentence=f"Consumers are slower: the work takes {longer}, and all have work in hand:"
        f" {number(numbers.leased)} in flight with {plural(numbers.consumers, 'consumer')}.",
        short=f"Consumers are slower: the work takes {longer}.",
        figures=(*work_figures(work), Figure("in_flight", numbers.leased, "in flight", number(numbers.leased))),
        proof=Proof(Page.CONSUMERS, "what each consumer has in hand"),
        advice="Look at what the work waits for: a database, a partner, a lock. Was a handler deployed when it began?"
        " More workers help only if what is behind them can take it.",
    )


def fewer_consumers(evidence: Evidence) -> Suspect:
    """Most of those who were here within the hour are gone, and as much less is done."""
    here, gone = evidence.numbers.consumers, evidence.consumers_gone
    if not evidence.waiting:
        return ruled_out(Cause.FEWER_CONSUMERS, "nothing is ready")
    if not here or here > FELL_SHARE * (here + gone):
        return ruled_out(Cause.FEWER_CONSUMERS, f"{number(here)} here, {number(gone)} gone within the hour")
    if not evidence.does_less:
        share = "nobody knows how much" if evidence.done_share is None else f"{percent(evidence.done_share)} as much"
        return ruled_out(Cause.FEWER_CONSUMERS, f"{number(gone)} gone within the hour, but {share} is done as before")
    done = f"{percent(evidence.done_share or 0.0)} of what was done before is done now"
    return Suspect(
        Cause.FEWER_CONSUMERS,
        found=True,
        sentence=f"Fewer consumers: {number(here)} of {number(here + gone)} seen within the hour are left, and {done}.",
        short=f"Fewer consumers: {number(here)} of {number(here + gone)} are left.",
        figures=(
            Figure("consumers", here, "consumers", number(here)),
            Figure("consumers_gone", gone, "gone within the hour", number(gone)),
            Figure("done_share", evidence.done_share, "done of what was done", percent(evidence.done_share or 0.0)),
        ),
        proof=Proof(Page.CONSUMERS, "consumers and when each was last seen"),
        advice="Find out why they are gone: crashed, scaled down, or stuck in a deployment. Start as many as there"
        " were.",
    )


def work_figures(work: Work) -> tuple[Figure, Figure]:
    return (
        Figure("work_ms", work.median, "work takes", took(work.median)),
        Figure("work_ms_before", work.median_before, "took before", took(work.median_before)),
    )


def took(milliseconds: float | None) -> str:
    """420 ms, 3.5 s."""
    if milliseconds is None:
        return span(None)
    return f"{milliseconds:.0f}\u00a0ms" if milliseconds < 1000 else span(milliseconds / 1000)


def acks(work: Work) -> str:
    return f"{number(work.acks)} done in ten minutes, {number(work.acks_before)} looked at from before"
