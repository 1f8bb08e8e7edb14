"""Streams, their messages and their consumer groups on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from console.api.core.name_pages import NameListing
from console.api.core.shape import Document, Moment, Shape, Text, TraceText, whole
from console.api.messages.shapes import DelaySeconds
from signalbox.calls.consumer_groups import Point

MAX_TOGETHER = 1000
MAX_POSITION = 9_223_372_036_854_775_807
MAX_PARTITION = 63
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$"


Partition = whole(0, MAX_PARTITION)
Position = whole(0, MAX_POSITION)
Seconds = Annotated[float, Field(ge=1, le=31_536_000)]
Retained = whole(0, 1_000_000_000_000_000)


class StreamSettings(Shape):
    """Settings of a stream; those that are absent stay, or have their defaults in a new stream."""

    partitions: whole(1, MAX_PARTITION + 1) | None = Field(
        default=None, description="The most members of a group that read at the same time. It can only grow."
    )
    retention_seconds: Annotated[float, Field(ge=3600, le=315_360_000)] | None = Field(
        default=None, description="The least time for which messages are kept."
    )
    retention_bytes: Retained | None = Field(
        default=None, description="The least bytes on disk that are kept of newer messages. 0: no limit."
    )
    retention_messages: Retained | None = Field(
        default=None, description="The least number of newer messages that are kept. 0: no limit."
    )
    compaction: bool | None = Field(
        default=None, description="Whether of each key only the newest message is kept, without limit of time."
    )
    dedup_window_seconds: Annotated[float, Field(ge=1, le=86_400)] | None = Field(
        default=None, description="How long a deduplicationKey is remembered, from the first append with it."
    )
    max_payload_bytes: whole(1, 262_144) | None = Field(default=None, description="The largest payload, as JSON text.")
    closed: bool | None = Field(default=None, description="A closed stream accepts no messages and can still be read.")
    alert_group_lag_seconds: Seconds | None = Field(
        default=None, description="A group with a lag for longer than this and without commits is stalled."
    )

    @property
    def settings(self) -> dict[str, Any]:
        """Return the given settings under the engine's names."""
        values = {name: getattr(self, name) for name in StreamSettings.model_fields}
        return {name: value for name, value in values.items() if value is not None}


class NewStream(StreamSettings):
    """A stream to make."""

    name: str = Field(pattern=NAME, examples=["orders"])
    tenant: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Null: the key's own, or else `default`."
    )


class StreamRename(Shape):
    """The new name of a stream; the old one is refused at once."""

    new_name: str = Field(pattern=NAME, examples=["order-events"])
    reason: Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] = Field(
        default="", description="For the audit log."
    )


class MorePartitions(Shape):
    """A number of partitions, not below that of the stream."""

    partitions: whole(1, MAX_PARTITION + 1) = Field(examples=[8])


class PartitionPreview(Document):
    """The effect of more partitions on a stream that has `present` of them."""

    present: int
    groups: int = Field(description="Groups that would read the new partitions, from their first message.")
    moved_keys: float = Field(description="Share of keys whose new messages would go to another partition.")
    unread: int = Field(
        description="Messages that the groups have not read. A group that has read all keeps each key's order."
    )


class StreamDocument(Document):
    """A stream with its settings."""

    stream_id: str = Field(examples=["s_7"])
    name: str
    tenant: str
    partitions: int
    retention_seconds: float
    retention_bytes: int
    retention_messages: int
    compaction: bool
    dedup_window_seconds: float
    max_payload_bytes: int
    closed: bool
    alert_group_lag_seconds: float
    created_at: str


class PartitionBounds(Document):
    """The positions of a partition that can be read; `lastPosition` is one less than the first if there are none."""

    partition: int
    first_position: int
    last_position: int


class StreamWithPositions(StreamDocument):
    """A stream with the positions of each partition."""

    positions: list[PartitionBounds]


class StreamPage(Document):
    """A page of streams, by name; `nextCursor` leads to the next page."""

    streams: list[StreamDocument]
    next_cursor: str | None


class StreamListing(NameListing):
    """The parameters of a list of streams."""


class NewStreamMessage(Shape):
    """A message to append."""

    body: Any = Field(
        description="The payload: any JSON value; with a contentType, bytes in base64.", examples=[{"orderId": 42}]
    )
    content_type: Text | None = Field(
        default=None,
        description="The type of a binary body, such as image/png. Null: the body is JSON.",
        examples=[None],
    )
    key: Text | None = Field(default=None, description="Messages with one key are read in their order.")
    deduplication_key: Text | None = Field(
        default=None,
        description="Appended again within the stream's window it appends nothing, and answers the first place.",
        examples=["order:42:placed"],
    )
    attributes: dict[str, Any] | None = Field(default=None, description="Names and values beside the payload.")
    trace_id: TraceText | None = None


class StreamBatch(Shape):
    """Messages to append, all or none."""

    messages: Annotated[list[NewStreamMessage], Field(min_length=1, max_length=MAX_TOGETHER)]


class Appended(Document):
    """The place of a message in its stream."""

    partition: int
    position: int


class AppendedBatch(Document):
    """The places of the messages, in order."""

    places: list[Appended]


class NewGroup(Shape):
    """A consumer group to make."""

    name: str = Field(pattern=NAME, examples=["billing"])
    point: Literal["beginning", "end", "time"] = Field(default="end", description="Where the group begins to read.")
    at: Moment | None = Field(default=None, description="With the point `time` only.")
    queue: Text | None = Field(default=None, description="Send the group's messages to this queue: a subscription.")
    queue_window: whole(1, 100_000) = Field(default=1000, description="The most messages ahead in that queue.")


class GroupChanges(Shape):
    """Settings of a consumer group; those that are absent stay. Only a subscription has those of its queue."""

    filter: Annotated[str, Field(max_length=2_000, pattern=r"^[^\x00]*$")] | None = Field(
        default=None,
        description="Selects what the group reads: payload, attr, trace, and group, which is the key. Empty: all.",
    )
    queue_window: whole(1, 100_000) | None = Field(default=None, description="The most messages ahead in the queue.")
    delay_seconds: DelaySeconds | None = Field(default=None, description="Null: the delay of the queue.")
    paused: bool | None = Field(default=None, description="A paused subscription sends nothing.")
    dry_run: bool = Field(default=False, description="Answer what would change, and change nothing.")
    reason: Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] = Field(
        default="", description="For the audit log."
    )

    @property
    def settings(self) -> dict[str, Any]:
        """Return the given settings under the engine's names; null only for a delay, where it has a meaning."""
        names = ("filter", "queue_window", "delay_seconds", "paused")
        given = {name: getattr(self, name) for name in names if name in self.model_fields_set}
        return {name: value for name, value in given.items() if value is not None or name == "delay_seconds"}


class GroupChange(Document):
    """Answer to a change of settings. With another filter, `skipped` of the `examined` messages are skipped."""

    changed: bool
    examined: int = Field(description="The next unread messages that were examined: at most 1,000.")
    skipped: int


class GroupDocument(Document):
    """A consumer group and how far it has read. `queue` is that of a subscription; null where the key reaches none."""

    group_id: str = Field(examples=["g_12"])
    name: str
    queue: str | None
    members: int
    committed: int
    lag_messages: int
    lag_seconds: float
    lost_messages: int
    committed_at: str | None


class GroupPartition(Document):
    """One partition of a group: its offset and its reader."""

    partition: int
    member: str | None
    epoch: int
    committed: int
    first_position: int
    last_position: int
    lag: int
    lost: int


class GroupWithPartitions(GroupDocument):
    """A consumer group with its partitions."""

    filter: str
    queue_window: int | None
    delay_seconds: float | None
    paused: bool
    skipped: int = Field(description="Messages that the filter has skipped.")
    partitions: list[GroupPartition]


class Groups(Document):
    """The consumer groups of a stream, by name."""

    groups: list[GroupDocument]


class Member(Shape):
    """A member of a consumer group."""

    member: Text = Field(description="The reader's own name in the group.", examples=["billing-1"])


class Join(Member):
    """A member, and the seconds for which it stays without another call."""

    lease_seconds: Annotated[float, Field(ge=0, le=43_200)] = 30


class OwnedPartition(Document):
    """A partition that the member reads, and its epoch."""

    partition: int
    epoch: int


class Membership(Document):
    """The partitions that the member reads."""

    partitions: list[OwnedPartition]


class Left(Document):
    """The number of partitions that the member gave back."""

    partitions: int


class ReadGroup(Member):
    """The reader, the most messages, and the wait for the first."""

    max_messages: whole(1, MAX_TOGETHER) = 100
    wait_seconds: Annotated[float, Field(ge=0, le=20)] = Field(
        default=0, description="How long to wait for a message when there is none."
    )


class StreamMessage(Document):
    """A message of a stream. A commit of its place needs `epoch`."""

    partition: int
    position: int
    epoch: int
    key: str | None
    body: Any = Field(description="A JSON value; with a contentType, bytes in base64.")
    content_type: str | None
    attributes: dict[str, Any]
    trace_id: str | None
    appended_at: str


class StreamMessages(Document):
    """Messages in the order of positions within each partition."""

    messages: list[StreamMessage]


class Offset(Shape):
    """The last position of a partition that the group has read."""

    partition: Partition
    position: Position
    epoch: whole(1, MAX_POSITION)


class Commit(Member):
    """The offsets that a member commits."""

    offsets: Annotated[list[Offset], Field(min_length=1, max_length=MAX_PARTITION + 1)]


class CommittedOffset(Document):
    """An offset that was committed, or `lost`: another member has the partition, or it is committed already."""

    partition: int
    position: int
    status: Literal["committed", "lost"]


class Commits(Document):
    """One result for each offset, in order."""

    results: list[CommittedOffset]


class Seek(Shape):
    """The point to which a group moves."""

    point: Point
    at: Moment | None = Field(default=None, description="With the point `time` only.")
    partition: Partition | None = Field(default=None, description="Null: all partitions.")
    position: Position | None = Field(
        default=None, description="With the point `offset` only: the last position that counts as read."
    )
    dry_run: bool = Field(default=False, description="Answer what would move, and move nothing.")
    reason: Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] = Field(
        default="", description="For the audit log."
    )


class MovedPartition(Document):
    """A partition that moves. A positive number of `messages` is read again, a negative one is skipped."""

    partition: int
    from_position: int
    to_position: int
    messages: int


class Moves(Document):
    """Each partition that moved, or would move."""

    partitions: list[MovedPartition]
