"""Check of publishing: every acknowledged message exists, no other does, and none twice."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.chaos.judging.evidence import Attempt, Evidence, Truth
from tests.chaos.judging.history import FAILED, OK
from tests.chaos.judging.verdict import Verdict


def judge_publishing(evidence: Evidence, truth: Truth, verdict: Verdict) -> None:
    messages: dict[Any, list[int]] = defaultdict(list)
    for message_id, token in truth.tokens.items():
        messages[token].append(message_id)
    for token, attempts in evidence.attempts.items():
        _judge(token, attempts, messages.get(token, []), truth, verdict)
    for token, ids in messages.items():
        if token not in evidence.attempts:
            verdict.accuse("unexpected", f"messages {ids} contain {token}, which no client sent")
    _judge_business(evidence, truth, messages, verdict)


def _judge(token: Any, attempts: list[Attempt], ids: list[int], truth: Truth, verdict: Verdict) -> None:
    verdict.figures["attempted"] += 1
    told = [attempt.message_id for attempt in attempts if attempt.outcome == OK]
    possible = [attempt for attempt in attempts if attempt.outcome != FAILED]
    if told:
        verdict.figures["acknowledged"] += 1
    elif not possible:
        verdict.figures["failed"] += 1
    elif ids:
        verdict.figures["recovered"] += 1
    else:
        verdict.figures["unknown, and not there"] += 1
    for message_id in told:
        if message_id is not None and message_id not in truth.places:
            verdict.accuse("lost", f"{token} was acknowledged as message {message_id}, which is nowhere")
        elif message_id is not None and truth.tokens.get(message_id) != token:
            verdict.accuse("another body", f"message {message_id} says {truth.tokens.get(message_id)}, not {token}")
    if ids and not possible:
        verdict.accuse("unexpected", f"{token} was never sent: every attempt failed, and yet there are messages {ids}")
    _judge_copies(token, attempts, possible, ids, verdict)


def _judge_copies(
    token: Any, attempts: list[Attempt], possible: list[Attempt], ids: list[int], verdict: Verdict
) -> None:
    """One message for each attempt that may have worked; by a deduplication id one for all of them."""
    if len(ids) < 2 or not possible:
        return
    if attempts[0].keyed or len(ids) > len(possible):
        verdict.accuse("published twice", f"{token} is messages {ids} after {len(possible)} attempts")
    else:
        verdict.duplicates["unknown publish"] += len(ids) - 1


def _judge_business(evidence: Evidence, truth: Truth, messages: dict[Any, list[int]], verdict: Verdict) -> None:
    """A row that was written in the transaction of a send is there if and only if the message is."""
    if truth.business is None:
        return
    sent = {token for token, attempts in evidence.attempts.items() if attempts[0].in_transaction}
    for token in sent:
        if (token in truth.business) != (token in messages):
            there = "has a row and no message" if token in truth.business else "has a message and no row"
            verdict.accuse("lost" if token in truth.business else "unexpected", f"{token} {there}")
