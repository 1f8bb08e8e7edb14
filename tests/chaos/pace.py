"""Throughput of a run over time, from its history: messages acked per second by all consumers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.chaos.judging.history import OK, Operation


def acks_by_second(operations: Iterable[Operation]) -> Counter[int]:
    acked: Counter[int] = Counter()
    for operation in operations:
        if operation.kind == "ack" and operation.outcome == OK and operation.completed is not None:
            acked[int(operation.completed)] += sum(answer is True for answer in operation.answer["answers"])
    return acked


def rate(acked: Counter[int], begin: float, end: float) -> float:
    """Messages a second over the whole seconds of a span."""
    seconds = range(int(begin) + 1, int(end))
    return sum(acked[second] for second in seconds) / len(seconds) if seconds else 0.0
