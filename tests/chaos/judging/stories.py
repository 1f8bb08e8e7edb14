"""Invented histories for the checker: short lives of messages, second by second."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.chaos.judging.checker import Truth, Verdict, check
from tests.chaos.judging.history import OK, UNKNOWN, Operation

LEASE_SECONDS = 10.0


@dataclass
class Story:
    """History of the clients, with the final state of the database. Times are in seconds."""

    operations: list[Operation] = field(default_factory=list)
    truth: Truth = field(default_factory=lambda: Truth({}, {}))

    def _add(
        self, kind: str, at: float, took: float | None, outcome: str, arguments: dict[str, Any], **answer: Any
    ) -> None:
        completed = None if took is None else at + took
        self.operations.append(Operation("someone", kind, at, arguments, outcome, completed, answer))

    def send(
        self,
        token: int,
        message_id: int | None,
        at: float = 0.0,
        outcome: str = OK,
        *,
        kind: str = "send",
        there: bool | None = None,
        **arguments: Any,
    ) -> Story:
        """End of a message; `there` says whether the database still has it, by default if it was acknowledged."""
        answer = {"ids": [message_id]} if outcome == OK else {}
        self._add(kind, at, 0.1, outcome, {"queue": "q", "tokens": [token], **arguments}, **answer)
        if message_id is not None and (there if there is not None else outcome == OK):
            self.truth.tokens[message_id] = token
            self.truth.places.setdefault(message_id, [])
        return self

    def receive(
        self,
        message_id: int,
        at: float,
        *,
        nonce: str = "a",
        count: int = 1,
        group: str | None = None,
        token: int | None = None,
        durable: bool = True,
    ) -> Story:
        message = [
            message_id,
            self.truth.tokens.get(message_id) if token is None else token,
            f"1.{message_id}.{nonce}",
            count,
            at + LEASE_SECONDS,
            group,
        ]
        arguments = {"queue": "q", "most": 1, "visibility": LEASE_SECONDS, "durable": durable}
        self._add("receive", at - 0.1, 0.2, OK, arguments, messages=[message])
        return self

    def receive_unknown(self, at: float) -> Story:
        self._add("receive", at, None, UNKNOWN, {"queue": "q", "most": 5, "visibility": LEASE_SECONDS})
        return self

    def settle(
        self, kind: str, message_id: int, at: float, answer: object = True, *, nonce: str = "a", **arguments: Any
    ) -> Story:
        """`answer` '?' is one that never came."""
        outcome, answers = (UNKNOWN, {}) if answer == "?" else (OK, {"answers": [answer]})
        took = None if answer == "?" else 0.1
        self._add(kind, at, took, outcome, {"handles": [f"1.{message_id}.{nonce}"], **arguments}, **answers)
        return self

    def ack(self, message_id: int, at: float, answer: object = True, *, nonce: str = "a") -> Story:
        return self.settle("ack", message_id, at, answer, nonce=nonce)

    def crash(self, at: float) -> Story:
        self._add("crash", at, 1.0, OK, {})
        return self

    def redrive(self, message_id: int, at: float) -> Story:
        self._add("redrive", at, 0.1, OK, {"messages": [message_id]})
        return self

    def end(self, message_id: int, *places: str) -> Story:
        self.truth.places[message_id] = list(places)
        return self

    def verdict(self) -> Verdict:
        return check(self.operations, self.truth)
