"""Upkeep of streams: create segments ahead, drop expired ones, and feed the queues of subscriptions."""

from __future__ import annotations

import logging
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from queues.upkeep.detaching import detach
from signalbox.logs import in_brief

log = logging.getLogger(__name__)


class StreamChores:
    """The chores of upkeep for streams, over one connection."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._feeding = False
        self._refused: dict[str, str] = {}
        """Subscription -> why its queue could not be fed in the last round."""

    def ensure(self) -> None:
        """Create segments, and note whether a subscription exists."""
        self.connection.execute("select signalbox.ensure_stream_segments()")
        row = self.connection.execute(
            "select exists (select from signalbox.consumer_group g where g.queue_id is not null)"
            " or exists (select from signalbox.queue_subscription)"
            " or exists (select from signalbox.capture c where c.backfilled_at is null)"
        ).fetchone()
        self._feeding = bool(row and row[0])

    def feed(self) -> None:
        """Feed the queues of subscriptions, each in a transaction of its own, so that none delays another."""
        if not self._feeding:
            return
        for group_id, sharers in self._rows("select group_id, sharers from signalbox.subscriptions_to_feed()"):
            self._attempt(f"subscription {group_id}", "select signalbox.feed_queue(%s, %s)", [group_id, sharers])
        for (number,) in self._rows("select signalbox.subscriptions_with_copies()"):
            self._attempt(f"subscription {number} of a queue", "select signalbox.send_held_copies(%s)", [number])
        for (number,) in self._rows("select capture_id from signalbox.capture where backfilled_at is null"):
            self._attempt(f"capture {number}", "select signalbox.backfill_capture(%s)", [number])

    def _rows(self, statement: LiteralString) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement).fetchall()

    def _attempt(self, name: str, statement: LiteralString, parameters: list[int]) -> None:
        try:
            self.connection.execute(statement, parameters)
        except psycopg.Error as error:
            if self.connection.closed:
                raise
            self._report(name, error)
        else:
            self._refused.pop(name, None)

    def _report(self, name: str, error: psycopg.Error) -> None:
        """Log why a subscription or a capture cannot go on, once for each cause."""
        cause = in_brief(error)
        if self._refused.get(name) != cause:
            self._refused[name] = cause
            log.error("%s cannot go on: %s", name, cause)

    def drop(self) -> None:
        """Drop expired segments. First positions move before, so that readers notice and never wait."""
        expired = self.connection.execute(
            "select stream_id, starts_at, table_name from signalbox.expired_stream_segments()"
        ).fetchall()
        held: set[int] = set()
        for stream_id, starts_at, name in expired:
            self.connection.execute("select signalbox.leave_stream_segment(%s, %s)", [stream_id, starts_at])
            if stream_id in held:
                continue  # a table has one partition at a time that is being detached
            try:
                detach(self.connection, sql.Identifier("signalbox", f"stream_message_{stream_id}"), name)
            except psycopg.errors.LockNotAvailable:
                held.add(stream_id)  # a transaction is open on this stream: tried again in the next round
                continue
            self.connection.execute("select signalbox.drop_stream_segment(%s, %s)", [stream_id, starts_at])
            log.info("dropped segment %s of a stream", name)
