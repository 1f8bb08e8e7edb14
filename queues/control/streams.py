"""Streams from Django: the control plane with its audit rows in one transaction, and how far each group is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.expressions import RawSQL

from queues import audit
from queues.database.query import fetch, query_text, verb_rows
from queues.errors import GroupNotFound, InvalidArgument, StreamNotFound
from queues.messages import client
from queues.stream_models import ConsumerGroup, Stream
from signalbox.calls.consumer_groups import GroupChange, Moved, Point
from signalbox.calls.streams import PartitionPreview, Place


@dataclass(frozen=True)
class GroupNumbers:
    """The progress of one group. `lost` are messages that retention dropped before the group read them."""

    group: ConsumerGroup
    members: int
    committed: int
    lag_messages: int
    lag_seconds: float
    lost: int
    committed_at: datetime | None

    @property
    def stalled(self) -> bool:
        """True when it is behind by more than the stream allows."""
        return self.lag_seconds > self.group.stream.alert_group_lag_seconds


@dataclass(frozen=True)
class PartitionNumbers:
    """One partition of a group. `alive`: its member's lease has not ended."""

    partition: int
    member: str | None
    alive: bool
    epoch: int
    committed: int
    committed_at: datetime | None
    first_position: int
    last_position: int
    lag: int
    lost: int
    oldest_at: datetime | None


@dataclass(frozen=True)
class PartitionBounds:
    """The positions of a partition that can be read; the last is one less than the first if there are none."""

    partition: int
    first_position: int
    last_position: int


@dataclass(frozen=True)
class Streams:
    """All streams at one moment, oldest first.

    They are the positions drawn in each stream, its deduplicated appends, and the progress of each group.
    """

    appended: Sequence[tuple[Stream, int]] = ()
    deduplicated: Sequence[tuple[Stream, int]] = ()
    groups: Sequence[GroupNumbers] = ()


_REPEATS = RawSQL("coalesce(pg_sequence_last_value(stream.repeats), 0)", [])


def read_streams() -> Streams:
    """Read streams from sequences and positions, never from messages; three queries however many there are."""
    drawn = RawSQL("(select sum(coalesce(pg_sequence_last_value(p), 0))::bigint from unnest(stream.positions) p)", [])
    streams = Stream.objects.select_related("tenant").annotate(appended=drawn, repeated=_REPEATS)
    known = {stream.stream_id: stream for stream in streams.order_by("stream_id")}
    groups = [group for group in ConsumerGroup.objects.order_by("group_id") if group.stream_id in known]
    for group in groups:
        group.stream = known[group.stream_id]
    return Streams(
        [(stream, stream.appended) for stream in known.values()],
        [(stream, stream.repeated) for stream in known.values()],
        read_groups(groups),
    )


def count_deduplicated(stream: Stream) -> int:
    """Count the appends that were answered with the place of an earlier message, since the stream was made."""
    counted: int = Stream.objects.annotate(repeated=_REPEATS).values_list("repeated", flat=True).get(pk=stream.pk)
    return counted


def get_stream(name: str) -> Stream:
    """Read the stream of this name; raises StreamNotFound."""
    stream = Stream.objects.select_related("tenant").filter(name=name).first()
    if stream is None:
        raise StreamNotFound(f"stream '{name}' does not exist")
    return stream


def get_group(stream: Stream, name: str) -> ConsumerGroup:
    """Read the group of this name; raises GroupNotFound."""
    groups = ConsumerGroup.objects.select_related("stream__tenant", "queue__tenant")
    group = groups.filter(stream=stream, name=name).first()
    if group is None:
        raise GroupNotFound(f"group '{name}' does not exist")
    return group


def read_groups(groups: Sequence[ConsumerGroup]) -> list[GroupNumbers]:
    """Read the progress of these groups, from positions and never from messages; one query."""
    known = {group.group_id: group for group in groups}
    rows = fetch(
        "select group_id, members, committed, lag_messages, lag_seconds, lost, committed_at"
        " from signalbox.group_numbers(%s)",
        [list(known)],
    )
    numbers = {row[0]: row[1:] for row in rows}
    return [GroupNumbers(group, *numbers[group_id]) for group_id, group in known.items() if group_id in numbers]


def read_partitions(group: ConsumerGroup) -> list[PartitionNumbers]:
    """Read the progress of a group in each partition; one query."""
    rows = fetch(
        "select partition, member, alive, epoch, committed, committed_at, first_position, last_position, lag, lost,"
        " oldest_at from signalbox.group_partitions(%s) order by partition",
        [[group.group_id]],
    )
    return [PartitionNumbers(*row) for row in rows]


def read_bounds(stream: Stream) -> list[PartitionBounds]:
    """Read the positions of each partition that can be read; one query."""
    rows = fetch(
        "select partition, first_position, last_position from signalbox.stream_bounds(%s) order by partition",
        [stream.name],
    )
    return [PartitionBounds(*row) for row in rows]


def read_bytes(stream: Stream) -> int:
    """Read how many bytes the messages of a stream have on disk, from the sizes of its segments."""
    ((size,),) = fetch(query_text("streams/bytes"), [stream.stream_id])
    return int(size)


def read_skipped(group: ConsumerGroup) -> int:
    """Read how many messages the filter of a group has skipped."""
    return sum(skipped for _, skipped in fetch(query_text("streams/skipped"), [[group.group_id]]))


def configure_group(
    stream: str, group: str, settings: Mapping[str, Any], *, actor: str, reason: str = ""
) -> GroupChange:
    """Change the settings of a group that are named, and record the value of each before and after."""
    with transaction.atomic(), audit.acting(actor, reason):
        return client().configure_group(stream, group, settings)


def preview_group(stream: str, group: str, settings: Mapping[str, Any]) -> GroupChange:
    """Compute what a change of settings would skip, without changing anything."""
    return client().configure_group(stream, group, settings, dry_run=True)


def create_stream(
    name: str, settings: Mapping[str, Any] | None = None, *, tenant: str | None = None, actor: str = "system"
) -> Stream:
    """Create a stream, or return the existing one with equal settings."""
    return make_stream(name, settings, tenant=tenant, actor=actor)[0]


def make_stream(
    name: str, settings: Mapping[str, Any] | None = None, *, tenant: str | None = None, actor: str
) -> tuple[Stream, bool]:
    """Create a stream unless it exists; return it, and whether this call created it: of several at once, one did."""
    with transaction.atomic(), audit.acting(actor):
        fetch("select pg_advisory_xact_lock(hashtext('signalbox.make_stream'), hashtext(%s))", [name])
        known = Stream.objects.filter(name=name).exists()
        client().create_stream(name, settings, tenant=tenant)
        return get_stream(name), not known


def configure_stream(name: str, settings: Mapping[str, Any], *, actor: str, reason: str = "") -> Stream:
    """Change the settings that are named, and record the value of each before and after."""
    with transaction.atomic(), audit.acting(actor, reason):
        client().configure_stream(name, settings)
        return get_stream(name)


def preview_partitions(name: str, partitions: int) -> PartitionPreview:
    """Compute what more partitions would do, without changing anything."""
    return client().preview_partitions(name, partitions)


def delete_stream(name: str, *, actor: str, reason: str) -> None:
    """Delete a closed stream with its messages and groups, for good. InvalidArgument says what is in the way."""
    with transaction.atomic(), audit.acting(actor, reason):
        client().delete_stream(name)


def obstacle(stream: Stream) -> str:
    """Say what prevents the deletion of a stream, as words behind its name; empty when nothing does."""
    try:
        with transaction.atomic():
            verb_rows("select signalbox._refuse_stream_in_use(%s)", stream.stream_id)
    except InvalidArgument as error:
        return str(error).partition(", which ")[2]
    return ""


def rename_stream(name: str, new_name: str, *, actor: str, reason: str = "") -> None:
    """Give a stream another name; the old one stops at once. InvalidArgument names the field."""
    with transaction.atomic(), audit.acting(actor, reason):
        client().rename_stream(name, new_name)


def append(
    stream: str,
    payload: object,
    *,
    actor: str,
    attributes: Mapping[str, Any] | None = None,
    key: str | None = None,
    deduplication_id: str | None = None,
) -> Place:
    """Append one message by hand and record it in the audit, or do neither; returns its place."""
    with transaction.atomic():
        place = client().append(stream, payload, key=key, attributes=attributes, deduplication_id=deduplication_id)
        where = {"partition": place.partition, "position": place.position}
        audit.record(actor, "stream.append", details={"stream": stream, **where})
        return place


def create_group(
    stream: str,
    name: str,
    *,
    actor: str,
    point: Point = "end",
    at: datetime | None = None,
    queue: str | None = None,
    queue_window: int = 1000,
) -> ConsumerGroup:
    """Create a consumer group that reads from a point on; with a queue it is a subscription that feeds it."""
    with transaction.atomic(), audit.acting(actor):
        row = get_stream(stream)
        client().create_group(stream, name, point=point, at=at, queue=queue, queue_window=queue_window)
        return get_group(row, name)


def drop_group(stream: str, name: str, *, actor: str, reason: str) -> bool:
    """Delete a consumer group; False when it does not exist."""
    with transaction.atomic(), audit.acting(actor, reason):
        return client().drop_group(stream, name)


def preview_seek(stream: str, group: str, point: Point, **where: Any) -> list[Moved]:
    """Compute the moves of a seek without moving anything."""
    return client().seek(stream, group, point, dry_run=True, **where)


def seek(stream: str, group: str, point: Point, *, actor: str, reason: str, **where: Any) -> list[Moved]:
    """Let a group read from another point, and record its offsets before and after."""
    with transaction.atomic(), audit.acting(actor, reason):
        return client().seek(stream, group, point, **where)


def browse(
    stream: Stream, partition: int, *, above: int | None = None, below: int | None = None, most: int = 50
) -> list[tuple[int, str | None, str, datetime]]:
    """Read (position, key, payload text, appended at) of a partition: the newest, or the next above a position."""
    return fetch(
        "select position, key, payload_text, appended_at from signalbox.browse_stream(%s, %s, %s, %s, %s)",
        [stream.name, partition, above, below, most],
    )
