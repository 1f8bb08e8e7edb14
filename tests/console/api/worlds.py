"""A queue of a tenant with something of everything in it, for requests that touch it."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.console.api.callers import Caller
from tests.engine import Engine

TENANT = "matrix-ours"
CAPTURABLE = "public.matrix_captured"
_numbers = itertools.count(1)
_run = uuid.uuid4().hex[:6]


class World:
    """One queue, its dead-letter queue, and whatever a request needs of it, made when it is asked for."""

    def __init__(self, connection: psycopg.Connection[Any], caller: Caller) -> None:
        self.connection = connection
        self.caller = caller
        self.queue = f"matrix-{_run}-{next(_numbers)}"
        self.engine = self._made(self.queue)

    @property
    def dlq(self) -> str:
        """The dead-letter queue, with a dead letter in it."""
        self.engine.die({"n": 1})
        return f"{self.queue}-dlq"

    @property
    def message(self) -> str:
        return f"msg_{self.engine.send({'n': 1})}"

    @property
    def handle(self) -> str:
        """Receipt handle of a held lease."""
        self.engine.send({"n": 1})
        return str(self.engine.receive_one(visibility_timeout=600)[1])

    @property
    def redrive(self) -> str:
        return str(self.caller.post(f"/v1/queues/{self.dlq}:redrive").document["redriveId"])

    @property
    def paused_redrive(self) -> str:
        name = self.redrive
        assert self.caller.post(f"/v1/redrives/{name}:pause").status == 200
        return name

    @property
    def purge(self) -> str:
        return str(self.caller.post(f"/v1/queues/{self.queue}:purge", self.purge_plan).document["purgeId"])

    @property
    def purge_plan(self) -> dict[str, Any]:
        self.engine.send()
        seen = self.caller.post(f"/v1/queues/{self.queue}:purge-plan", {"states": ["ready"]}).document
        return {name: seen[name] for name in ("states", "count", "throughMessageId")}

    @property
    def stream(self) -> str:
        """A stream of one partition within the prefix of the queue, with the group `g`."""
        self.connection.execute(
            "select signalbox.create_stream(%s, %s, %s)", [self.queue, Jsonb({"partitions": 1}), TENANT]
        )
        self.connection.execute("select signalbox.create_group(%s, 'g')", [self.queue])
        return self.queue

    @property
    def closed_stream(self) -> str:
        """A stream that can be deleted."""
        self.connection.execute("select signalbox.configure_stream(%s, '{\"closed\": true}')", [self.stream])
        return self.queue

    @property
    def group(self) -> str:
        return "g"

    @property
    def empty_queue(self) -> str:
        """Another queue within the prefix of the first."""
        return self._made(f"{self.queue}-empty").queue

    @property
    def subscriber(self) -> str:
        """Another queue, which is subscribed to the first."""
        name = self.empty_queue
        self.connection.execute("select signalbox.subscribe(%s, %s)", [self.queue, name])
        return name

    @property
    def capturable_table(self) -> str:
        """A table that CAPTURE_TABLES allows for the tenant."""
        self.connection.execute(f"create table if not exists {CAPTURABLE} (id bigint primary key, status text)")
        return CAPTURABLE

    @property
    def captured_table(self) -> str:
        """A table that is captured into the stream."""
        stream, table = self.stream, self.capturable_table
        self.connection.execute("select signalbox.uncapture(%s, %s)", [table, stream])
        self.connection.execute("select signalbox.capture(%s, %s)", [table, stream])
        return CAPTURABLE

    def _made(self, name: str) -> Engine:
        row = self.connection.execute("select signalbox.create_queue(%s, %s, %s)", [name, Jsonb({}), TENANT]).fetchone()
        assert row is not None
        return Engine(self.connection, name, row[0])


MakeWorld = Callable[[], World]
