"""Those who should take the messages: are they there?"""

from __future__ import annotations

from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Cause, Figure, Page, Proof, Suspect, ruled_out
from metrics.diagnosis.suspects import pace as per
from metrics.wording import number, plural, span


def consumer_outage(evidence: Evidence) -> Suspect:
    """Nobody has asked for a minute, and nothing leaves. Consumers without a name are seen by what they hold."""
    numbers = evidence.numbers
    if not evidence.waiting:
        return ruled_out(Cause.CONSUMER_OUTAGE, "nothing is ready that a consumer could take")
    if numbers.consumers:
        return ruled_out(Cause.CONSUMER_OUTAGE, f"{plural(numbers.consumers, 'consumer')} in the last minute")
    nameless = evidence.last_consumer_seconds is None and numbers.leased
    if nameless:
        return ruled_out(
            Cause.CONSUMER_OUTAGE, f"{plural(numbers.leased, 'message')} in flight, with consumers that give no name"
        )
    if not _still(evidence):
        return ruled_out(Cause.CONSUMER_OUTAGE, f"{per(numbers.out_per_second)} leave")
    last = evidence.last_consumer_seconds
    seen = f"the last was seen {span(last)} ago" if last is not None else "nor in the day before"
    return Suspect(
        Cause.CONSUMER_OUTAGE,
        found=True,
        sentence=f"No consumer in the last minute, {seen}; {_waiting(evidence)}.",
        short=f"No consumer in the last minute, {seen}.",
        figures=(
            Figure("consumers", 0, "consumers in the last minute", "0"),
            Figure("consumers_gone", evidence.consumers_gone, "in the hour before", number(evidence.consumers_gone)),
            Figure(
                "last_consumer_seconds",
                last,
                "last seen",
                f"{span(last)} ago" if last is not None else "not within a day",
            ),
            Figure("out_per_second", numbers.out_per_second, "leaving", per(numbers.out_per_second)),
        ),
        proof=Proof(Page.CONSUMERS, "consumers and when each was last seen"),
        advice=_advice(last),
    )


def _still(evidence: Evidence) -> bool:
    """Nothing is done. What expires or is purged leaves as well, so the last minute's acks may tell it better."""
    return evidence.numbers.out_per_second == 0 or (evidence.minute is not None and evidence.minute.acked == 0)


def _waiting(evidence: Evidence) -> str:
    waiting = plural(evidence.waiting, "message") + (" waits" if evidence.waiting == 1 else " wait")
    arriving = evidence.numbers.in_per_second
    return f"{waiting}, and {per(arriving)} arrive" if arriving else waiting


def _advice(last: float | None) -> str:
    if last is None:
        return "Start workers for it (docs/worker.md), or find out whether anybody is meant to receive from it."
    return (
        "Look at the workers' own logs and their host: did they crash, were they deployed or scaled down? Start them"
        " again."
    )
