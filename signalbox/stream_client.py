"""The verbs of streams, which `Client` has too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from signalbox.connections import Connections
from signalbox.long_polls import read_waiting
from signalbox.statements import Statement, streams
from signalbox.streams import Moved, Place, Point, StreamMessage, last_of_each

T = TypeVar("T")


class StreamVerbs:
    """Streams: kept for their retention, read by groups, each at its own positions."""

    _connections: Connections

    def create_stream(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a stream; its id. Repeating it with equal settings and tenant (None: any) changes nothing."""
        return self._run(streams.create_stream(name, settings or {}, tenant))

    def configure_stream(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings named and leave the others; the stream's id."""
        return self._run(streams.configure_stream(name, settings))

    def append(
        self,
        stream: str,
        payload: object,
        *,
        key: str | None = None,
        attributes: Mapping[str, object] | None = None,
        trace_id: str | None = None,
    ) -> Place:
        """Append one message; its partition and position. Messages of one key are read in the order of positions."""
        return self._run(streams.append(stream, payload, key, attributes, trace_id))

    def append_batch(
        self,
        stream: str,
        payloads: Sequence[object],
        *,
        keys: Sequence[str | None] | None = None,
        attributes: Sequence[Mapping[str, object] | None] | None = None,
    ) -> list[Place]:
        """Append many messages, all or none; their places in the order of the payloads."""
        return self._run(streams.append_batch(stream, payloads, keys, attributes))

    def create_group(
        self,
        stream: str,
        name: str,
        *,
        point: Point = "end",
        at: datetime | None = None,
        queue: str | None = None,
        queue_window: int = 1000,
    ) -> int:
        """Make a group that reads from a point of history on; its id. With a queue, what it reads is sent there."""
        return self._run(streams.create_group(stream, name, point, at, queue, queue_window))

    def drop_group(self, stream: str, group: str) -> bool:
        """Forget a group and how far it was; True when there was one."""
        return self._run(streams.drop_group(stream, group))

    def join_group(self, stream: str, group: str, member: str, *, lease_seconds: float = 30.0) -> dict[int, int]:
        """Be a member for so long, or for so long again; the epoch of each partition that is now this member's."""
        return self._run(streams.join_group(stream, group, member, lease_seconds))

    def leave_group(self, stream: str, group: str, member: str) -> int:
        """Give the member's partitions to the others; how many they were."""
        return self._run(streams.leave_group(stream, group, member))

    def read_stream(
        self, stream: str, group: str, member: str, max_messages: int = 100, *, wait_seconds: float = 0.0
    ) -> list[StreamMessage]:
        """What the group has not committed yet of this member's partitions; the same again until it is committed.

        Reading joins the group and keeps the member in it. In each partition messages come in the order of
        positions, and none is skipped that commits later.

        When no message is there, wait up to `wait_seconds` for an append.
        """
        statement = streams.read_stream(stream, group, member, max_messages)
        return read_waiting(self._connections, stream, lambda: self._run(statement), wait_seconds)

    def commit_offset(self, stream: str, group: str, member: str, place: Place, epoch: int) -> bool:
        """Commit that the group has read the partition up to this place.

        False: the partition is no longer the member's, was rewound, or the group has committed this place already.
        The caller's transaction commits its own work and the offset together: roll it back when this is False. A
        place that no read has returned raises `InvalidArgument`.
        """
        return self._run(streams.commit_offset(stream, group, member, place, epoch))

    def commit_messages(self, stream: str, group: str, member: str, messages: Iterable[StreamMessage]) -> bool:
        """Commit all these messages, one offset for each partition; False when any was refused."""
        committed = [
            self.commit_offset(stream, group, member, Place(one.partition, one.position), one.epoch)
            for one in last_of_each(messages)
        ]
        return all(committed)

    def rewind(
        self,
        stream: str,
        group: str,
        point: Point,
        *,
        at: datetime | None = None,
        partition: int | None = None,
        position: int | None = None,
        dry_run: bool = False,
    ) -> list[Moved]:
        """Let a group go on from another point; what moves, or with `dry_run` would.

        What members have read and not committed is refused from then on.
        """
        return self._run(streams.rewind(stream, group, point, at, partition, position, dry_run=dry_run))

    def _run(self, statement: Statement[T], check: Callable[[Any], None] | None = None) -> T:
        raise NotImplementedError
