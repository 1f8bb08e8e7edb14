"""Check of FIFO groups: messages are delivered in sending order, each after all before it are settled."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from tests.chaos.judging.evidence import Evidence, Truth
from tests.chaos.judging.history import OK
from tests.chaos.judging.verdict import Verdict


def judge_groups(evidence: Evidence, truth: Truth, verdict: Verdict) -> None:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for message_id, deliveries in evidence.deliveries.items():
        if deliveries[0].group is not None:
            groups[deliveries[0].queue, deliveries[0].group].append(message_id)
    for ids in groups.values():
        verdict.figures["messages in groups"] += len(ids)
        for earlier, later in pairwise(sorted(ids)):
            _judge_turn(earlier, later, evidence, verdict)
    _judge_order_of_sending(evidence, verdict)


def _judge_turn(earlier: int, later: int, evidence: Evidence, verdict: Verdict) -> None:
    """The later one's first delivery follows the last of the earlier one, and the beginning of its ack."""
    first = evidence.deliveries[later][0]
    last = evidence.deliveries[earlier][-1]
    acks = [one.invoked for one in evidence.settlings.get(last.handle, ()) if one.kind == "ack" and one.answer]
    settled = min(acks, default=None)
    if first.leased_at <= last.leased_at or settled is None or first.leased_at < settled:
        verdict.accuse(
            "FIFO violation",
            f"message {later} of {first.group} was given out at {first.leased_at:.6f}; {earlier} had been at"
            f" {last.leased_at:.6f} and was settled at {settled or 0.0:.6f}",
        )


def _judge_order_of_sending(evidence: Evidence, verdict: Verdict) -> None:
    """Check that a sender to a group who waits for each answer gets ascending ids."""
    sent = defaultdict(list)
    for attempts in evidence.attempts.values():
        for attempt in attempts:
            if attempt.group is not None and attempt.outcome == OK and attempt.message_id is not None:
                sent[attempt.queue, attempt.group].append((attempt.invoked, attempt.completed, attempt.message_id))
    for (queue, group), sends in sent.items():
        for (_, completed, earlier), (invoked, _, later) in pairwise(sorted(sends)):
            if completed is not None and completed <= invoked and earlier > later:
                verdict.accuse("FIFO violation", f"{queue}, {group}: {later} was sent after {earlier}")
