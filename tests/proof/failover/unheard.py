"""Effect of an asynchronous promotion on a history: answers after the last replicated commit count
as if it had never been answered. The rest is judged by the usual checker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.chaos.judging.evidence import NOTED, Truth
from tests.chaos.judging.history import OK, UNKNOWN, Operation


def unheard(operations: Iterable[Operation], since: float, until: float, truth: Truth) -> Iterator[Operation]:
    """The history as the new primary may know it. `since`: the last commit replayed; `until`: the old one was dead.

    Whatever was asked before `until` was asked of the old one: the other took no writes yet.
    """
    history = list(operations)
    settled = set(_settled_after(history, until))
    for operation in history:
        if operation.kind == "crash":  # what it undoes begins there
            yield replace(operation, invoked=min(operation.invoked, since))
            continue
        if not _is_unheard(operation, since, until, truth):
            yield operation
            continue
        yield replace(operation, outcome=UNKNOWN, answer={})
        if operation.kind == "receive":
            kept = [one for one in operation.answer["messages"] if _has_survived(one, operation, settled, truth)]
            arguments = {**operation.arguments, "durable": False}
            yield replace(operation, arguments=arguments, answer={"messages": kept})


def lost(operations: Iterable[Operation], truth: Truth) -> list[Operation]:
    """List the acknowledged sends whose message is missing."""
    there = set(truth.tokens.values())
    return [
        operation
        for operation in operations
        if operation.kind.startswith("send") and operation.outcome == OK and set(operation.arguments["tokens"]) - there
    ]


def _is_unheard(operation: Operation, since: float, until: float, truth: Truth) -> bool:
    """Return whether the old primary answered after that time; a client may record the answer later."""
    if operation.kind not in NOTED or operation.outcome != OK:
        return False
    if operation.kind == "receive" and operation.arguments["queue"] in truth.opaque_queues:
        # The worker's: written down when a handler begins, which may be long after the claim.
        leased_at = min(one[4] - operation.arguments["visibility"] for one in operation.answer["messages"])
        return since < leased_at <= until
    return operation.invoked <= until and since < (operation.completed or since)


def _settled_after(history: Iterable[Operation], until: float) -> Iterator[str]:
    for operation in history:
        if operation.invoked > until and operation.outcome == OK and "handles" in operation.arguments:
            answers = operation.answer["answers"]
            yield from (one for one, held in zip(operation.arguments["handles"], answers, strict=True) if held)


def _has_survived(message: list[Any], operation: Operation, settled: set[str], truth: Truth) -> bool:
    """Return whether the lease had reached the standby, as its receipt shows; a worker's receipts are unknown."""
    message_id, token, handle = message[:3]
    if truth.tokens.get(message_id) != token:
        return False
    return handle in settled or operation.arguments["queue"] in truth.opaque_queues
