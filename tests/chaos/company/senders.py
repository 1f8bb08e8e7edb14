"""Clients that send: one at a time, in batches, with a row of their own, by a key, in groups; again when in doubt."""

from __future__ import annotations

import time
from typing import Any

import psycopg

from signalbox import QuotaExceeded
from tests.chaos.company.client import ChaosClient, Interrupted, outcome_of, why
from tests.chaos.judging.history import FAILED, OK


class Sender(ChaosClient):
    """Sender of one message a turn, some with a delay or a priority."""

    def turn(self) -> None:
        (token,) = self.tokens(1)
        options: dict[str, Any] = {}
        if self.dice.random() < 0.1:
            options["delay_seconds"] = self.dice.uniform(0.05, 1.0)
        if self.dice.random() < 0.1:
            options["priority"] = 5
        if self.queue == "lanes":
            options["group_id"] = f"lane {self.dice.randrange(4)}"
        self.attempt(
            "send",
            lambda: self.verbs.send(self.queue, token, **options),  # type: ignore[misc]
            lambda message_id: {"ids": [message_id]},
            queue=self.queue,
            tokens=[token],
        )
        self.rest()

    def rest(self) -> None:
        time.sleep(self.assignment.options.get("pause", 0.02) * self.dice.uniform(0.5, 1.5))


class BatchSender(Sender):
    """Sender of a batch a turn; it waits when its queue is full."""

    def turn(self) -> None:
        tokens = self.tokens(self.assignment.options.get("batch", 100))
        try:
            self.attempt(
                "send",
                lambda: self.verbs.send_batch(self.queue, tokens),
                lambda ids: {"ids": ids},
                queue=self.queue,
                tokens=tokens,
            )
        except Interrupted as interrupted:
            if not isinstance(interrupted.__cause__, QuotaExceeded):
                raise
            time.sleep(0.2)
        self.rest()


class OrderSender(Sender):
    """Sender in a transaction with a business row, sometimes rolled back. Only an unanswered commit is in doubt."""

    def turn(self) -> None:
        (token,) = self.tokens(1)
        connection = self.connection
        number = self.journal.invoke("send in a transaction", queue=self.queue, tokens=[token])
        outcome, answer = FAILED, {}
        try:
            connection.execute("begin")
            connection.execute("insert into public.business values (%s)", [token])
            message_id = self.verbs.send(self.queue, token)
            if self.dice.random() < 0.1:
                connection.execute("rollback")
            else:
                outcome = "?"
                connection.execute("commit")
                outcome, answer = OK, {"ids": [message_id]}
        except psycopg.Error as error:
            outcome = outcome_of(error) if outcome == "?" else FAILED
            answer = {"why": why(error)}
            raise
        finally:
            self.journal.complete(number, outcome, **answer)
        self.rest()


class KeyedSender(Sender):
    """Sender with deduplication ids that repeats until it gets an answer: at most one message for each id."""

    def turn(self) -> None:
        (token,) = self.tokens(1)
        while not self.stopping:
            try:
                self._send(token)
                break
            except (Interrupted, psycopg.Error, OSError):
                self.drop()
                time.sleep(0.05)
        self.rest()

    def _send(self, token: int) -> None:
        self.attempt(
            "send",
            lambda: self.verbs.send(self.queue, token, deduplication_id=str(token)),
            lambda message_id: {"ids": [message_id]},
            queue=self.queue,
            tokens=[token],
            keyed=True,
        )


class RepeatingSender(KeyedSender):
    """Sender without a key that repeats when in doubt: unanswered sends explain its duplicates."""

    def _send(self, token: int) -> None:
        self.attempt(
            "send",
            lambda: self.verbs.send(self.queue, token),
            lambda message_id: {"ids": [message_id]},
            queue=self.queue,
            tokens=[token],
        )


class TaskSender(Sender):
    """Sender of tasks for Celery, as any role that may send."""

    def turn(self) -> None:
        (token,) = self.tokens(1)
        self.attempt(
            "send",
            lambda: self.verbs.send(self.queue, {"task": "chaos.note", "args": [token]}),
            lambda message_id: {"ids": [message_id]},
            queue=self.queue,
            tokens=[token],
        )
        self.rest()


class GroupSender(Sender):
    """Sender to FIFO groups of its own, one message after the other."""

    def turn(self) -> None:
        (token,) = self.tokens(1)
        group = f"{self.assignment.options.get('groups', 'g')}-{self.dice.randrange(3)}"
        self.attempt(
            "send",
            lambda: self.verbs.send(self.queue, token, group_id=group, attributes={"fifo": True}),
            lambda message_id: {"ids": [message_id]},
            queue=self.queue,
            tokens=[token],
            group=group,
        )
        self.rest()
