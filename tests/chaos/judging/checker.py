"""Checker of a history against the final state of the database. It changes nothing.

Every message is classified, and every delivery after the first needs a reason that the history or the list of crashes
gives: a nack, the end of a lease, a lease given back, a redrive, or a claim that a crash undid.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.chaos.company.publishing import judge_publishing
from tests.chaos.judging.deliveries import judge_deliveries
from tests.chaos.judging.evidence import Truth, gather
from tests.chaos.judging.groups import judge_groups
from tests.chaos.judging.history import Operation
from tests.chaos.judging.verdict import Verdict

__all__ = ["Truth", "Verdict", "check"]


def check(operations: Iterable[Operation], truth: Truth) -> Verdict:
    """The verdict over a run whose faults have stopped and whose queues were drained."""
    evidence = gather(operations)
    verdict = Verdict()
    judge_publishing(evidence, truth, verdict)
    judge_deliveries(evidence, truth, verdict)
    judge_groups(evidence, truth, verdict)
    for message_id, places in truth.places.items():
        if not places:
            verdict.accuse("lost", f"message {message_id} is in the log and nowhere else")
        elif len(places) > 1:
            verdict.accuse("in two places", f"message {message_id} is {' and '.join(places)}")
        elif places[0] not in ("acked", "purged"):
            verdict.accuse("stranded", f"message {message_id} is still {places[0]} although all was drained")
    for drift in truth.drift:
        verdict.accuse("counter drift", drift)
    return verdict
