"""Clients that receive: they ack, nack, extend, give back, are slow, crash, and ack what is no longer theirs."""

from __future__ import annotations

import os
import signal
import time

import psycopg

from signalbox import Message
from tests.chaos.company.client import ChaosClient, Interrupted, outcome_of, why
from tests.chaos.company.queues import VISIBILITY_SECONDS
from tests.chaos.judging.history import FAILED, OK

MOODS = {"ack": 80, "nack": 6, "extend": 4, "give back": 3, "slow": 2, "crash": 1, "ack twice": 4}
EMPTY_PAUSE_SECONDS = 0.05


class Consumer(ChaosClient):
    """Consumer that varies what it does with its messages. While draining it only acks."""

    moods = MOODS

    def turn(self) -> None:
        most = self.dice.randint(1, self.assignment.options.get("batch", 5))
        durable = self.dice.random() < self.assignment.options.get("durable", 0.8)
        messages = self.receive(most, durable=durable, visibility=VISIBILITY_SECONDS)
        if not messages:
            time.sleep(EMPTY_PAUSE_SECONDS)
            return
        mood = "ack" if self._draining() else self.dice.choices(list(self.moods), list(self.moods.values()))[0]
        getattr(self, f"_{mood.replace(' ', '_')}")(messages)

    def _draining(self) -> bool:
        return (self.assignment.folder / "draining").exists()

    def _ack(self, messages: list[Message]) -> None:
        self.ack(messages)

    def _ack_twice(self, messages: list[Message]) -> None:
        self.ack(messages)
        self.ack(messages)

    def _nack(self, messages: list[Message]) -> None:
        for message in messages:
            self._settle("nack", message, delay=self.dice.choice([None, 0.0, 0.2]), reason="runtime_error")

    def _settle(self, _: str, message: Message, delay: float | None, reason: str) -> None:
        self.attempt(
            "nack",
            lambda: self.verbs.nack(
                message,
                delay_seconds=delay,
                error_class="Chaos",
                reason=reason,  # type: ignore[arg-type]
            ),
            lambda fate: {"answers": [fate]},
            handles=[message.receipt_handle],
        )

    def _extend(self, messages: list[Message], seconds: float = 2 * VISIBILITY_SECONDS) -> None:
        handles = [message.receipt_handle for message in messages]
        self.attempt(
            "extend",
            lambda: self.verbs.change_visibility_batch(handles, seconds),
            lambda ends: {"answers": [end.timestamp() if (end := ends[handle]) else None for handle in handles]},
            handles=handles,
            seconds=seconds,
        )
        time.sleep(self.dice.uniform(0.0, 0.3))
        self.ack(messages)

    def _give_back(self, messages: list[Message]) -> None:
        handles = [message.receipt_handle for message in messages]
        self.attempt(
            "give back",
            lambda: self.verbs.change_visibility_batch(handles, 0),
            lambda ends: {"answers": [True if ends[handle] else None for handle in handles]},
            handles=handles,
        )

    def _slow(self, messages: list[Message]) -> None:
        """Hold a message longer than its lease: it may be redelivered by then."""
        time.sleep(VISIBILITY_SECONDS * self.dice.uniform(0.8, 1.6))
        self.ack(messages)

    def _crash(self, _: list[Message]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class BulkConsumer(Consumer):
    """Receive and ack as many messages as available in one call."""

    moods = {"ack": 960, "nack": 2, "extend": 10, "give back": 5, "slow": 2, "crash": 1, "ack twice": 20}


class OrderConsumer(ChaosClient):
    """Acks in the transaction of what it does; where the lease is no longer held it undoes that."""

    def turn(self) -> None:
        messages = self.receive(self.dice.randint(1, 3), visibility=VISIBILITY_SECONDS)
        if not messages:
            time.sleep(EMPTY_PAUSE_SECONDS)
        for message in messages:
            self._work(message)

    def _work(self, message: Message) -> None:
        connection = self.connection
        number = self.journal.invoke("ack", handles=[message.receipt_handle])
        outcome, answer = FAILED, {}
        try:
            connection.execute("begin")
            connection.execute("insert into public.effect values (%s)", [message.id])
            held = self.verbs.ack(message)
            outcome = "?" if held else outcome
            connection.execute("commit" if held else "rollback")
            outcome, answer = OK, {"answers": [held]}
        except psycopg.Error as error:
            outcome = outcome_of(error) if outcome == "?" else FAILED
            answer = {"why": why(error)}
            raise
        finally:
            self.journal.complete(number, outcome, **answer)


class MortalConsumer(Consumer):
    """Consumer that rejects some messages, and fails others until they become dead letters."""

    moods = {"ack": 60, "reject": 15, "nack": 20, "slow": 2, "crash": 1, "ack twice": 2}

    def _reject(self, messages: list[Message]) -> None:
        for message in messages:
            self._settle("nack", message, delay=None, reason="rejected")


class Redriver(ChaosClient):
    """Operator that redrives dead letters of a queue, a few at a time, each batch in a transaction."""

    def turn(self) -> None:
        rows = self.connection.execute(
            "select dead_letter_id, message_id from signalbox.dead_letter where source_queue = %s"
            " order by dead_letter_id limit 20",
            [self.queue],
        ).fetchall()
        if rows:
            self.attempt(
                "redrive",
                lambda: self.connection.execute(
                    "select message_id from signalbox.redrive(%s)", [[row[0] for row in rows]]
                ).fetchall(),
                lambda moved: {"moved": [row[0] for row in moved]},
                messages=[row[1] for row in rows],
            )
        time.sleep(0.3)


class Prober(Consumer):
    """One message after the other, there and back: how soon everything works again is seen here."""

    def turn(self) -> None:
        if self._draining():
            super().turn()
            return
        (token,) = self.tokens(1)
        began = time.time()
        self.attempt(
            "send",
            lambda: self.verbs.send(self.queue, token),
            lambda message_id: {"ids": [message_id]},
            queue=self.queue,
            tokens=[token],
        )
        while not self.stopping:
            messages = self.receive(10, visibility=VISIBILITY_SECONDS)
            if messages:
                self.ack(messages)
            if any(message.payload == token for message in messages):
                number = self.journal.invoke("probe", began=began)
                self.journal.complete(number, OK)
                break
            if not messages:
                self._give_up_after(began)
        time.sleep(0.02)

    def _give_up_after(self, began: float) -> None:
        """Report a lock that another incarnation may hold, killed or stopped: the next probe decides."""
        if time.time() - began > 2 * VISIBILITY_SECONDS:
            raise Interrupted
        time.sleep(0.01)
