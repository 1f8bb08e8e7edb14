"""Causes among the consumers: they are gone, fewer or slower than before, or defer what they receive."""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence, Work
from metrics.diagnosis.suspects import Cause, Figure, Found, Page, Proof, percent, period, speed, suspect
from metrics.diagnosis.thresholds import DEFERRALS, DEFERRING_SHARE, FAILING_SHARE, FELL_SHARE
from metrics.wording import number, plural, span


@suspect(Cause.CONSUMER_OUTAGE)
def consumer_outage(evidence: Evidence) -> Found | str:
    """Suspect an outage: for a minute no consumer received and no message left. Leases show unnamed consumers."""
    numbers = evidence.numbers
    if not evidence.waiting:
        return "nothing is ready that a consumer could take"
    if numbers.consumers:
        return f"{plural(numbers.consumers, 'consumer')} in the last minute"
    last = evidence.last_consumer_seconds
    if last is None and numbers.leased:
        return f"{plural(numbers.leased, 'message')} in flight, with consumers that give no name"
    # Expired and purged messages leave too, so acks decide where they are known.
    if numbers.out_per_second != 0 and (evidence.minute is None or evidence.minute.acked != 0):
        return f"{speed(numbers.out_per_second)} leave"
    ago = f"{span(last)} ago"
    short = (
        f"No consumer in the last minute, the last was seen {ago}" if last is not None else "No consumer seen for 24 h"
    )
    return Found(
        sentence=f"{short}; {_waiting(evidence)}.",
        short=f"{short}.",
        figures=(
            Figure("consumers", 0, "consumers in the last minute", "0"),
            Figure("consumers_gone", evidence.consumers_gone, "in the hour before", number(evidence.consumers_gone)),
            Figure("last_consumer_seconds", last, "last seen", ago if last is not None else "not within a day"),
            Figure("out_per_second", numbers.out_per_second, "leaving", speed(numbers.out_per_second)),
        ),
        proof=Proof(Page.CONSUMERS, "consumers and when each was last seen"),
        advice=_advice(last),
    )


def _waiting(evidence: Evidence) -> str:
    waiting = plural(evidence.waiting, "message") + (" waits" if evidence.waiting == 1 else " wait")
    arriving = evidence.numbers.in_per_second
    return f"{waiting}, and {speed(arriving)} arrive" if arriving else waiting


def _advice(last: float | None) -> str:
    if last is None:
        return "Start workers for it (docs/use/worker.md), or check which application should receive from it."
    return (
        "Look at the workers' own logs and their host: did they crash, were they deployed or scaled down? Start them"
        " again."
    )


@suspect(Cause.DEFERRAL)
def deferral(evidence: Evidence) -> Found | str:
    """Suspect deferrals: consumers put off a large share of the messages that they receive, which come again later."""
    flow, scheduled = evidence.recent, evidence.numbers.scheduled
    if flow is None or not flow.deferred:
        return "no delivery was deferred"
    if not evidence.waiting and not scheduled:
        return "nothing waits, and nothing is scheduled"
    share = f"{percent(flow.deferring)} of those that ended"
    done = f"{plural(flow.deferred, 'deferral')} in {period(flow.seconds)}, {share}"
    if flow.deferred < DEFERRALS or flow.deferring < DEFERRING_SHARE:
        return done
    return Found(
        sentence=f"Consumers put messages off: {done}; {number(scheduled)} are scheduled,"
        f" {number(evidence.waiting)} wait.",
        short=f"Consumers put messages off: {done}.",
        figures=(
            Figure("deferred", flow.deferred, "deferred deliveries", number(flow.deferred)),
            Figure("deferring_share", flow.deferring, "of all deliveries that ended", percent(flow.deferring)),
            Figure("scheduled", scheduled, "scheduled", number(scheduled)),
            Figure("next_due_seconds", evidence.due_seconds, "next due in", span(evidence.due_seconds)),
        ),
        proof=Proof(Page.SCHEDULED, "scheduled messages and when they are due"),
        advice="Find out what the handler waits for when it defers. A deferral is not a failure, so a message may be"
        " deferred for ever. A longer delay needs fewer deliveries.",
    )


@suspect(Cause.SLOW_CONSUMERS)
def slow_consumers(evidence: Evidence) -> Found | str:
    """Suspect slow work: it takes much longer than before, or none has finished, and every consumer is busy."""
    numbers, work, recent = evidence.numbers, evidence.work, evidence.recent
    if not evidence.waiting:
        return "nothing is ready"
    if evidence.is_held_up:
        return _held_up(evidence)
    if work.factor is None:
        done = f"{number(work.acks)} acks in ten minutes, {number(work.acks_before)} examined from before"
        return f"too few acknowledged messages to compare: {done}"
    if not work.slower:
        return f"work takes {took(work.median)}, {took(work.median_before)} before"
    if recent is not None and recent.failing >= FAILING_SHARE:
        return f"work takes longer, but {percent(recent.failing)} of deliveries fail as well"
    if not numbers.consumers or numbers.leased < numbers.consumers:
        in_hand = f"{plural(numbers.consumers, 'consumer')} with {number(numbers.leased)} in flight"
        return f"not every consumer is busy: {in_hand}"
    longer = f"{took(work.median)} now, {took(work.median_before)} before"
    return Found(
        sentence=f"Consumers are slower: the work takes {longer}, and all have work in hand:"
        f" {number(numbers.leased)} in flight with {plural(numbers.consumers, 'consumer')}.",
        short=f"Consumers are slower: the work takes {longer}.",
        figures=(*work_figures(work), Figure("in_flight", numbers.leased, "in flight", number(numbers.leased))),
        proof=Proof(Page.CONSUMERS, "the messages that each consumer holds"),
        advice="Check what the handler waits for: a database, a partner, a lock. Was it deployed when it became slow?"
        " More workers help only if these dependencies can serve them.",
    )


def _held_up(evidence: Evidence) -> Found:
    numbers, flow = evidence.numbers, evidence.recent
    seconds = flow.seconds if flow else 0.0
    busy = f"{number(numbers.leased)} in flight with {plural(numbers.consumers, 'consumer')}"
    return Found(
        sentence=f"Consumers are busy: {busy}, and no delivery has ended in the last {period(seconds)}.",
        short=f"Consumers are busy: {busy}.",
        figures=(
            Figure("in_flight", numbers.leased, "in flight", number(numbers.leased)),
            Figure("consumers", numbers.consumers, "consumers", number(numbers.consumers)),
        ),
        proof=Proof(Page.CONSUMERS, "messages in flight with each consumer"),
        advice="Check what the work waits for: a long task, a database, a partner, a lock. Add workers if such work is"
        " expected.",
    )


@suspect(Cause.FEWER_CONSUMERS)
def fewer_consumers(evidence: Evidence) -> Found | str:
    """Suspect fewer consumers: most consumers of the last hour are gone, and throughput fell as much."""
    here, gone = evidence.numbers.consumers, evidence.consumers_gone
    if not evidence.waiting:
        return "nothing is ready"
    if evidence.is_held_up:
        return f"{number(evidence.numbers.leased)} in flight: every consumer that is left is busy, none has finished"
    if not here or here > FELL_SHARE * (here + gone):
        return f"{number(here)} present, {number(gone)} gone within the hour"
    if not evidence.does_less:
        share = "an unknown share" if evidence.done_share is None else f"{percent(evidence.done_share)} as much"
        return f"{number(gone)} gone within the hour, but {share} is done as before"
    fell = f"Consumers dropped from {number(here + gone)} to {number(here)} within the hour"
    return Found(
        sentence=f"{fell}; throughput fell to {percent(evidence.done_share or 0.0)}.",
        short=f"{fell}.",
        figures=(
            Figure("consumers", here, "consumers", number(here)),
            Figure("consumers_gone", gone, "gone within the hour", number(gone)),
            Figure("done_share", evidence.done_share, "share of earlier work", percent(evidence.done_share or 0.0)),
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
    """Write a work time, such as 420 ms or 3.5 s."""
    if milliseconds is None or milliseconds >= 1000:
        return span(milliseconds and milliseconds / 1000)
    return f"{milliseconds:.0f}\u00a0ms"
