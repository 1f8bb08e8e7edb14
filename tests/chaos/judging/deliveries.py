"""Check of deliveries: every redelivery is explained, the newest receipt settles, and older receipts do not."""

from __future__ import annotations

from itertools import pairwise

from tests.chaos.judging.evidence import Delivery, Evidence, Settling, Truth
from tests.chaos.judging.verdict import Verdict

ENDED_BY = {"nack": "nack", "give back": "lease given back"}


def judge_deliveries(evidence: Evidence, truth: Truth, verdict: Verdict) -> None:
    for message_id, deliveries in evidence.deliveries.items():
        verdict.figures["deliveries"] += len(deliveries)
        _judge_message(message_id, deliveries, evidence, truth, verdict)
    for message_id, places in truth.places.items():
        if message_id in truth.delivered:
            _judge_execution(message_id, truth, len(evidence.crashes), verdict)
        else:
            _judge_end(message_id, places, evidence, truth, verdict)


def _judge_message(
    message_id: int, deliveries: list[Delivery], evidence: Evidence, truth: Truth, verdict: Verdict
) -> None:
    if message_id not in truth.tokens:
        verdict.accuse("unexpected", f"message {message_id} was delivered and is not in the log")
    elif any(delivery.token != truth.tokens[message_id] for delivery in deliveries):
        verdict.accuse("another body", f"message {message_id} was delivered with the body of another")
    if deliveries[0].receive_count > 1:
        _judge_unseen(deliveries[0], evidence, truth, verdict)
    opaque = deliveries[0].queue in truth.opaque_queues
    for earlier, later in pairwise(deliveries):
        _judge_pair(earlier, later, evidence, verdict, "the worker's own nack" if opaque else None)
    for delivery, following in zip(deliveries, [*deliveries[1:], None], strict=True):
        for settling in evidence.settlings.get(delivery.handle, ()):
            _judge_answer(delivery, following, settling, evidence, verdict)


def _judge_pair(earlier: Delivery, later: Delivery, evidence: Evidence, verdict: Verdict, else_by: str | None) -> None:
    """Explain a redelivery. `else_by` is an unrecorded cause: a worker nacks for a child that died."""
    verdict.figures["redelivered"] += 1
    settlings = evidence.settlings.get(earlier.handle, [])
    if any(settling.kind == "ack" and settling.answer is True for settling in settlings):
        verdict.accuse("delivered after its ack", f"message {later.message_id}, acked by {earlier.handle}")
        return
    cause = _cause(earlier, later, settlings, evidence) or else_by
    if cause is None:
        verdict.accuse(
            "unexplained duplicate",
            f"message {later.message_id} at {later.leased_at:.6f}: {earlier.handle} was held to {earlier.deadline:.6f}",
        )
        return
    verdict.duplicates[cause] += 1
    undone = not earlier.durable and _crashed(earlier.leased_at, later.leased_at, evidence)
    expected = 1 if cause == "redrive" else earlier.receive_count + (not undone)
    if later.receive_count < expected:
        verdict.accuse(
            "miscounted delivery",
            f"message {later.message_id}: delivery {later.receive_count} after {earlier.receive_count} ({cause})",
        )


def _cause(earlier: Delivery, later: Delivery, settlings: list[Settling], evidence: Evidence) -> str | None:
    """The surest cause first: what was answered, then the clock, then what may have happened without an answer."""
    before = [settling for settling in settlings if settling.invoked <= later.leased_at]
    if later.receive_count <= earlier.receive_count and any(
        earlier.leased_at <= at <= later.leased_at for at in evidence.redrives.get(later.message_id, ())
    ):
        return "redrive"
    for settling in before:
        if settling.kind in ENDED_BY and settling.answer not in (None, "?"):
            return ENDED_BY[settling.kind]
    if _earliest_end(earlier, before) <= later.leased_at:
        return "expiry"
    for settling in before:
        if settling.kind in ENDED_BY and settling.answer == "?":
            return ENDED_BY[settling.kind]
    if not earlier.durable and _crashed(earlier.leased_at, later.leased_at, evidence):
        return "crash"
    return None


def _earliest_end(delivery: Delivery, settlings: list[Settling]) -> float:
    """Times at which the lease may have expired: unanswered extensions may have happened or not."""
    ends = [delivery.deadline]
    for settling in sorted(settlings, key=lambda settling: settling.invoked):
        if settling.kind == "extend" and settling.deadline is not None:
            ends = [*ends, settling.deadline] if settling.answer == "?" else [settling.deadline]
    return min(ends)


def _crashed(after: float, before: float, evidence: Evidence) -> bool:
    """An asynchronous commit is on disk within a second; what is older no crash can undo."""
    return any(end >= after and begin <= before and begin - after < 5.0 for begin, end in evidence.crashes)


def _judge_answer(
    delivery: Delivery, following: Delivery | None, settling: Settling, evidence: Evidence, verdict: Verdict
) -> None:
    if settling.answer == "?":
        return
    if settling.answer in (None, False):
        if _may_be_refused(delivery, following, settling, evidence):
            verdict.figures["stale receipts refused"] += 1
        else:
            verdict.accuse("held lease refused", f"{settling.kind} of {delivery.handle} at {settling.invoked:.6f}")
    elif following is not None and following.leased_at < settling.invoked:
        verdict.accuse(
            "stale receipt accepted",
            f"{settling.kind} of {delivery.handle}: message {delivery.message_id} had been delivered to another client",
        )


def _may_be_refused(delivery: Delivery, following: Delivery | None, settling: Settling, evidence: Evidence) -> bool:
    until = settling.completed if settling.completed is not None else float("inf")
    others = [one for one in evidence.settlings[delivery.handle] if one is not settling and one.invoked <= until]
    if following is not None and following.leased_at <= until:
        return True
    if any(one.kind != "extend" and one.answer not in (None, False) for one in others):
        return True
    if _earliest_end(delivery, others) <= until:
        return True
    return not delivery.durable and _crashed(delivery.leased_at, until, evidence)


def _judge_unseen(first: Delivery, evidence: Evidence, truth: Truth, verdict: Verdict) -> None:
    """Check for a claim whose client died before it knew the message."""
    verdict.figures["unseen deliveries"] += first.receive_count - 1
    if first.queue not in truth.opaque_queues and not evidence.unknown_receives.get(first.queue):
        verdict.accuse(
            "miscounted delivery",
            f"message {first.message_id} came as delivery {first.receive_count}, and no claim went without an answer",
        )


def _judge_end(message_id: int, places: list[str], evidence: Evidence, truth: Truth, verdict: Verdict) -> None:
    deliveries = evidence.deliveries.get(message_id, [])
    settlings = [one for delivery in deliveries for one in evidence.settlings.get(delivery.handle, ())]
    told = sum(one.kind == "ack" and one.answer is True for one in settlings)
    if "acked" in places:
        verdict.figures["acked"] += 1
        if not any(one.kind == "ack" and one.answer in (True, "?") for one in settlings):
            verdict.accuse(
                "settled without a client", f"message {message_id} counts as acked without an ack of a client"
            )
    elif told:
        verdict.accuse("ack undone", f"message {message_id} was acked and is {places}")
    if told > 1:
        verdict.accuse("delivered after its ack", f"message {message_id} was acked {told} times")
    if deliveries and deliveries[0].queue in truth.effective_queues:
        _judge_effect(message_id, places, truth.effects.get(message_id, 0), verdict)


def _judge_effect(message_id: int, places: list[str], effects: int, verdict: Verdict) -> None:
    """Check that work in the transaction of an ack is done once if the message is acked, else not at all."""
    if effects > 1 or (effects and "acked" not in places):
        verdict.accuse("effect twice", f"message {message_id}, {places}, had {effects} effects")
    elif not effects and "acked" in places:
        verdict.accuse("effect missing", f"message {message_id} is acked without the work of its transaction")


def _judge_execution(message_id: int, truth: Truth, crashes: int, verdict: Verdict) -> None:
    """Celery runs a task once for each delivery at most, of which a crash may undo one, and once before it acks."""
    token, deliveries = truth.tokens.get(message_id), truth.delivered[message_id]
    verdict.figures["tasks of Celery"] += 1
    if token is None:  # sent by beat, which sends nothing twice that could be distinguished
        return
    executions = truth.executions.get(token, 0)
    verdict.duplicates["Celery, killed or stopped"] += max(0, min(executions, deliveries) - 1)
    if executions > deliveries + crashes:
        verdict.accuse("effect twice", f"task {token} ran {executions} times in {deliveries} deliveries")
    elif not executions:
        verdict.accuse("effect missing", f"task {token} is acked and never ran")
