"""Upkeep of streams: segments made ahead and dropped behind, queues that are fed. A probe where there are none."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from psycopg import sql

from queues.detaching import detach

log = logging.getLogger(__name__)


class StreamChores:
    """What a loop of upkeep does for streams over its connection."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._feeding = False

    def ensure(self) -> None:
        """Make segments, and notice whether any subscription feeds a queue."""
        self.connection.execute("select signalbox.ensure_stream_segments()")
        row = self.connection.execute(
            "select exists (select from signalbox.consumer_group g where g.queue_id is not null)"
        ).fetchone()
        self._feeding = bool(row and row[0])

    def record(self) -> None:
        """Add how far each group is to history."""
        self.connection.execute("select signalbox.record_group_history()")

    def clean(self) -> None:
        """Forget offsets that were passed, members that are long gone, and old history."""
        self.connection.execute("select signalbox.clean_streams()")

    def feed(self) -> None:
        """Send to the queues of subscriptions, if there are any."""
        if self._feeding:
            self.connection.execute("select signalbox.feed_queues()")

    def drop(self) -> None:
        """Drop the segments that no retention needs: readers are told first, and nobody waits."""
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
                held.add(stream_id)  # somebody has a transaction open on this stream: the next round
                continue
            self.connection.execute("select signalbox.drop_stream_segment(%s, %s)", [stream_id, starts_at])
            log.info("dropped segment %s of a stream", name)
