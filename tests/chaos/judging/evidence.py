"""The history, sorted by what the checker asks: who published what, who was given what, and how each lease ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.judging.history import OK, Operation


@dataclass(slots=True)
class Delivery:
    """One lease of one message, as its client saw it. Times are the server's."""

    message_id: int
    token: Any
    queue: str
    group: str | None
    handle: str
    receive_count: int
    leased_at: float
    deadline: float
    durable: bool


@dataclass(slots=True)
class Settling:
    """Use of a receipt handle and its answer: `answer` None is not held, '?' unknown."""

    kind: str
    invoked: float
    completed: float | None
    answer: Any
    deadline: float | None = None


@dataclass(slots=True)
class Attempt:
    """One try of publishing a token."""

    outcome: str
    invoked: float
    completed: float | None
    message_id: int | None
    queue: str
    group: str | None
    keyed: bool
    in_transaction: bool


@dataclass
class Truth:
    """Final state of the database after the run."""

    places: dict[int, list[str]]
    """Of every message of the log: acked, dead, ready, ...; for each time that it is there."""
    tokens: dict[int, Any]
    """What each message's payload says."""
    drift: list[str] = field(default_factory=list)
    business: set[Any] | None = None
    """The tokens of rows that were written in the transaction of a send."""
    effects: dict[int, int] = field(default_factory=dict)
    """How many rows were written for each message in the transaction of an ack."""
    effective_queues: frozenset[str] = frozenset()
    """Queues whose messages are acked in the transaction of an effect only."""
    executions: dict[Any, int] = field(default_factory=dict)
    """How often Celery has run the task of a token."""
    delivered: dict[int, int] = field(default_factory=dict)
    """Messages that Celery was given, and in which delivery each was acked."""
    opaque_queues: frozenset[str] = frozenset()
    """Queues whose consumers do not record their receives and acks."""


@dataclass
class Evidence:
    attempts: dict[Any, list[Attempt]] = field(default_factory=lambda: defaultdict(list))
    deliveries: dict[int, list[Delivery]] = field(default_factory=lambda: defaultdict(list))
    settlings: dict[str, list[Settling]] = field(default_factory=lambda: defaultdict(list))
    redrives: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """When a redrive of the message was invoked."""
    unknown_receives: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many messages claims without an answer may have been given, for each queue."""
    crashes: list[tuple[float, float]] = field(default_factory=list)


def gather(operations: Iterable[Operation]) -> Evidence:
    evidence = Evidence()
    for operation in operations:
        if operation.kind in NOTED:
            NOTED[operation.kind](evidence, operation)
    for deliveries in evidence.deliveries.values():
        deliveries.sort(key=lambda delivery: delivery.leased_at)
    return evidence


def _note_attempts(evidence: Evidence, operation: Operation) -> None:
    arguments = operation.arguments
    ids = operation.answer.get("ids") or [None] * len(arguments["tokens"])
    for token, message_id in zip(arguments["tokens"], ids, strict=True):
        evidence.attempts[token].append(
            Attempt(
                operation.outcome,
                operation.invoked,
                operation.completed,
                message_id,
                arguments["queue"],
                arguments.get("group"),
                arguments.get("keyed", False),
                operation.kind == "send in a transaction",
            )
        )


def _note_deliveries(evidence: Evidence, operation: Operation) -> None:
    arguments = operation.arguments
    if operation.outcome != OK:
        evidence.unknown_receives[arguments["queue"]] += arguments["most"]
        return
    for message_id, token, handle, receive_count, deadline, group in operation.answer["messages"]:
        evidence.deliveries[message_id].append(
            Delivery(
                message_id,
                token,
                arguments["queue"],
                group,
                handle,
                receive_count,
                deadline - arguments["visibility"],
                deadline,
                arguments.get("durable", True),
            )
        )


def _note_settlings(evidence: Evidence, operation: Operation) -> None:
    """A settling that failed settled nothing, and says nothing of the lease."""
    if operation.outcome == "failed":
        return
    handles = operation.arguments["handles"]
    answers = operation.answer["answers"] if operation.outcome == OK else ["?"] * len(handles)
    for handle, answer in zip(handles, answers, strict=True):
        deadline = None
        if operation.kind == "extend":
            unknown = operation.invoked + operation.arguments["seconds"]
            deadline = unknown if answer == "?" else answer
        evidence.settlings[handle].append(
            Settling(operation.kind, operation.invoked, operation.completed, answer, deadline)
        )


def _note_redrive(evidence: Evidence, operation: Operation) -> None:
    for message_id in operation.arguments["messages"]:
        evidence.redrives[message_id].append(operation.invoked)


def _note_crash(evidence: Evidence, operation: Operation) -> None:
    evidence.crashes.append((operation.invoked, operation.completed or float("inf")))


NOTED: dict[str, Callable[[Evidence, Operation], None]] = {
    "send": _note_attempts,
    "send in a transaction": _note_attempts,
    "receive": _note_deliveries,
    "ack": _note_settlings,
    "nack": _note_settlings,
    "extend": _note_settlings,
    "give back": _note_settlings,
    "redrive": _note_redrive,
    "crash": _note_crash,
}
