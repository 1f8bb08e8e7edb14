# Generated from signalbox/verbs.py by `make generate`: change that file, then generate this one.
"""The asyncio twin of `signalbox.verbs`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, Unpack

from signalbox.calls import captures, consumer_groups, queues, receiving, sending, settling, streams, subscriptions
from signalbox.calls.call import Call, T
from signalbox.calls.consumer_groups import GroupChange, GroupInfo, Moved, Point, StreamMessage, last_of_each
from signalbox.calls.queues import QueueInfo
from signalbox.calls.sending import BatchOptions, Refused, SendOptions, Sent
from signalbox.calls.settling import NackOptions, SettledWait
from signalbox.calls.streams import PartitionPreview, Place, StreamInfo
from signalbox.calls.subscriptions import Subscription
from signalbox.messages import AckedAndReceived, Message, NackOutcome, Outcome, handle_of, payload_of
from signalbox.payloads.bodies import BodyStore, with_body
from signalbox.tracing.spans import received


class AsyncVerbs:
    """The verbs that every client has. Refusals are raised as errors of `signalbox.errors`.

    Streams are kept for their retention and read by consumer groups, each at its own positions.
    """

    _bodies: BodyStore | None = None

    async def send(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
        """Send one message; returns its id. With a deduplication id already used, returns the first message's id.

        The payload is a JSON value, or bytes, which the consumer receives as bytes.
        """
        return await self._send(sending.send(queue, payload, options))

    async def send_counted(self, queue: str, payload: object, **options: Unpack[SendOptions]) -> Sent:
        """Send one message; returns its id, and how many messages wait in its message group, itself included.

        The number is None in a queue that neither orders nor limits the group.
        """
        return await self._send(sending.send_counted(queue, payload, options))

    async def send_batch(self, queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
        """Send many messages, all or none; returns their ids in the order of the payloads."""
        return await self._send(sending.send_batch(queue, payloads, options))

    async def send_each(self, queue: str, messages: Sequence[tuple[object, SendOptions]]) -> list[int | Refused]:
        """Send up to 1,000 messages, each by itself; returns for each its id, or the error that `send` would raise.

        Each message is a pair of a payload and its options. All are sent in one transaction; an unknown or closed
        queue is raised.
        """
        return await self._send(sending.send_each(queue, messages))

    async def receive(
        self,
        queue: str,
        max_messages: int = 1,
        *,
        visibility_timeout: float | None = None,
        consumer: str | None = None,
        durable: bool = True,
        allow_open_transaction: bool = False,
        wait_seconds: float = 0.0,
    ) -> list[Message]:
        """Lease up to `max_messages` messages for `visibility_timeout` seconds, or as long as the queue's setting says.

        If the queue is empty, `receive` waits up to `wait_seconds` for messages. If all long polls of the tenant are in
        use, it raises QuotaExceeded instead of waiting.

        `durable=False` commits asynchronously, which is faster: a crash of the database may deliver the messages
        again without having counted this delivery. On a connection whose transaction would stay open, `receive` raises
        OpenTransaction unless `allow_open_transaction`. Over HTTP every claim is durable and no transaction is open.
        """
        began_ns = time.time_ns()
        messages = await self._run(
            receiving.receive(
                queue, max_messages, visibility_timeout, consumer, durable, allow_open_transaction, wait_seconds
            )
        )
        return self._received(queue, messages, began_ns)

    async def fetch(self, message: Message) -> Any:
        """Read the payload of a message; a large payload comes from the body store now.

        The asyncio clients read a large payload in a thread, where `message.payload` would hold up the event loop.
        """
        return await asyncio.to_thread(payload_of, message) if message.body else message.payload

    async def ack(self, receipt: Message | str, *, result: object = None) -> bool:
        """Settle a message as done. False when its lease was no longer held: the message will be delivered again.

        `result`, at most 64 KB of JSON, is kept as long as history: see `wait_settled`. Over HTTP, OutcomeUnknown is
        raised when the answer to a first attempt was lost and a second found the lease ended.
        """
        return (await self._run(settling.ack([receipt], [result])))[handle_of(receipt)]

    async def ack_batch(
        self, receipts: Iterable[Message | str], *, results: Sequence[object] | None = None
    ) -> dict[str, bool]:
        """Settle many messages as done, in one call; returns for each receipt handle what `ack` returns.

        `results` has one entry for each receipt; None keeps nothing. Over HTTP there is one request for each queue.
        """
        return await self._run(settling.ack(receipts, results))

    async def ack_and_receive(
        self,
        receipts: Iterable[Message | str],
        queue: str,
        max_messages: int = 1,
        *,
        visibility_timeout: float | None = None,
        consumer: str | None = None,
        allow_open_transaction: bool = False,
    ) -> AckedAndReceived:
        """Settle messages as done and lease the next in one call and one commit: cheaper than two calls.

        Both or neither is done. Otherwise as `ack_batch` and `receive`. Over HTTP all receipts are of the same queue.
        """
        call = receiving.ack_and_receive(
            receipts, queue, max_messages, visibility_timeout, consumer, allow_open_transaction
        )
        began_ns = time.time_ns()
        done = await self._run(call)
        return done._replace(messages=self._received(queue, done.messages, began_ns))

    async def nack(self, receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
        """Record a failed delivery. Returns "retry" or "dead", or None when the lease was no longer held.

        `state`, at most 16 KB of JSON, is for the next delivery; without one, an earlier one stays.
        """
        return await self._run(settling.nack(receipt, options))

    async def nack_batch(self, nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[NackOutcome | None]:
        """Record many failed deliveries in one call; returns for each receipt, in order, what `nack` returns."""
        return await self._run(settling.nack_batch(nacks))

    async def defer(self, receipt: Message | str, delay_seconds: float, *, state: object = None) -> datetime | None:
        """Put a message off for `delay_seconds`; returns when it is due, or None when the lease was no longer held.

        The delivery counts neither as a failure nor towards `max_receives`, however often a message is deferred.
        `state`, at most 16 KB of JSON, is for the next delivery; without one, an earlier one stays.
        """
        return await self._run(settling.defer(receipt, delay_seconds, state))

    async def change_visibility(self, receipt: Message | str, seconds: float) -> datetime | None:
        """Let the lease end `seconds` from now; returns its deadline, or None when it was no longer held.

        Zero gives the message back: another consumer can receive it at once, and no failure is recorded.
        """
        return (await self._run(settling.change_visibility([receipt], seconds)))[handle_of(receipt)]

    async def change_visibility_batch(
        self, receipts: Iterable[Message | str], seconds: float
    ) -> dict[str, datetime | None]:
        """Change many leases in one call; returns for each receipt handle what `change_visibility` returns."""
        return await self._run(settling.change_visibility(receipts, seconds))

    async def message_outcome(self, message_id: int) -> Outcome | None:
        """Return the state of the message and how it ended; None when it is unknown, or the API key may not see it."""
        return await self._run(settling.message_outcome(message_id))

    async def wait_settled(self, message_id: int, timeout: float | None = None) -> Outcome:
        """Wait until the message is completed, purged, expired or dead.

        The wait lasts at most `timeout` seconds; None waits for ever. The client asks every 10 ms at first, and every
        second in the end. NotSettled, a TimeoutError, is raised when the time is over, and MessageNotFound for an
        unknown message. OpenTransaction is raised on a connection in a transaction: a message that this
        transaction sent can be settled only after the commit.
        """
        wait = SettledWait(message_id, timeout)
        while (outcome := await self._run(wait.call)) is None or outcome.outcome is None:
            await asyncio.sleep(wait.pause(outcome))
        return outcome

    async def create_queue(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a queue; returns its id. Repeating it with equal settings and tenant (None: any) changes nothing.

        Over HTTP, a tenant of None is the tenant of the API key.
        """
        return await self._run(queues.create_queue(name, settings or {}, tenant))

    async def configure_queue(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings that are named, and leave the others; returns the queue's id."""
        return await self._run(queues.configure_queue(name, settings))

    async def list_queues(self, prefix: str = "") -> list[QueueInfo]:
        """List the queues whose names begin with the prefix, by name, with their settings and without their numbers.

        Over HTTP, only queues that the API key reaches are listed.
        """
        return await self._run(queues.list_queues(prefix))

    async def describe_queue(self, name: str) -> QueueInfo:
        """Describe a queue: its settings, and how many messages it has in each state, exactly."""
        return await self._run(queues.describe_queue(name))

    async def announce_consumer(self, queue: str, consumer: str, details: Mapping[str, object]) -> None:
        """Report to the console that this consumer of the queue is alive, with its details."""
        await self._run(queues.announce_consumer(queue, consumer, details))

    async def create_stream(
        self, name: str, settings: Mapping[str, object] | None = None, *, tenant: str | None = None
    ) -> int:
        """Create a stream; returns its id. Repeating it with equal settings and tenant (None: any) changes nothing."""
        return await self._run(streams.create_stream(name, settings or {}, tenant))

    async def configure_stream(self, name: str, settings: Mapping[str, object]) -> int:
        """Change the settings that are named, and leave the others; returns the stream's id."""
        return await self._run(streams.configure_stream(name, settings))

    async def rename_stream(self, name: str, new_name: str) -> int:
        """Give a stream another name; returns its id. Appends and reads by the old name are refused at once.

        Messages, groups, offsets, subscriptions and captures stay, and masking rules hold for both names. In the
        database it is for the owner of Signalbox.
        """
        return await self._run(streams.rename_stream(name, new_name))

    async def delete_stream(self, name: str) -> None:
        """Delete a closed stream with its messages, groups and offsets, permanently.

        `InvalidArgument` says what prevents it: the stream is open, sends to a queue, captures a table, or has a member
        that reads. In the database it is for the owner of Signalbox.
        """
        await self._run(streams.delete_stream(name))

    async def preview_partitions(self, stream: str, partitions: int) -> PartitionPreview:
        """Compute what more partitions would do to a stream: how many keys would move, and what is not read yet.

        `configure_stream(stream, {"partitions": partitions})` does it. The number can only grow.
        """
        return await self._run(streams.preview_partitions(stream, partitions))

    async def list_streams(self, prefix: str = "") -> list[StreamInfo]:
        """List the streams whose names begin with the prefix, by name, with their settings.

        Over HTTP, only streams that the API key reaches are listed.
        """
        return await self._run(streams.list_streams(prefix))

    async def append(
        self,
        stream: str,
        payload: object,
        *,
        key: str | None = None,
        attributes: Mapping[str, object] | None = None,
        trace_id: str | None = None,
        content_type: str | None = None,
        deduplication_id: str | None = None,
    ) -> Place:
        """Append one message; returns its partition and position. One key's messages are read in their order.

        `content_type` is that of a payload of bytes. With a deduplication id that was used within the stream's window,
        the place of the first message is returned, and nothing is appended.
        """
        return await self._run(
            streams.append(stream, payload, key, attributes, trace_id, content_type, deduplication_id)
        )

    async def append_batch(
        self,
        stream: str,
        payloads: Sequence[object],
        *,
        keys: Sequence[str | None] | None = None,
        attributes: Sequence[Mapping[str, object] | None] | None = None,
        trace_ids: Sequence[str | None] | None = None,
        content_types: Sequence[str | None] | None = None,
        deduplication_ids: Sequence[str | None] | None = None,
    ) -> list[Place]:
        """Append many messages, all or none; returns their places in the order of the payloads.

        A message whose deduplication id was used within the stream's window has the place of the first.
        """
        return await self._run(
            streams.append_batch(stream, payloads, keys, attributes, trace_ids, content_types, deduplication_ids)
        )

    async def create_group(
        self,
        stream: str,
        name: str,
        *,
        point: Point = "end",
        at: datetime | None = None,
        queue: str | None = None,
        queue_window: int = 1000,
    ) -> int:
        """Create a consumer group that reads from a point of history on; returns its id.

        With a queue, the group is a subscription: the messages that it reads are sent there.
        """
        return await self._run(consumer_groups.create_group(stream, name, point, at, queue, queue_window))

    async def drop_group(self, stream: str, group: str) -> bool:
        """Drop a consumer group and its positions; True when there was one."""
        return await self._run(consumer_groups.drop_group(stream, group))

    async def set_group_filter(self, stream: str, group: str, filter: str) -> bool:
        """Let a consumer group read only the messages that a filter selects; True when the filter changed.

        The fields of a filter are payload, attr, trace, and group, which is the key of the message. An empty filter
        selects all messages. Messages that it skips are committed and counted.
        """
        return await self._run(consumer_groups.set_group_filter(stream, group, filter))

    async def configure_group(
        self, stream: str, group: str, settings: Mapping[str, object], *, dry_run: bool = False
    ) -> GroupChange:
        """Change the named settings of a consumer group; with `dry_run`, only return what would change.

        `filter` selects what is read. A subscription also has `queue_window`, `delay_seconds` and `paused`.
        """
        return await self._run(consumer_groups.configure_group(stream, group, settings, dry_run))

    async def list_groups(self, stream: str) -> list[GroupInfo]:
        """List the consumer groups of the stream by name, and how far each has read."""
        return await self._run(consumer_groups.list_groups(stream))

    async def join_group(self, stream: str, group: str, member: str, *, lease_seconds: float = 30.0) -> dict[int, int]:
        """Join a consumer group, or stay in it, for `lease_seconds`; returns the epoch of each partition it now has."""
        return await self._run(consumer_groups.join_group(stream, group, member, lease_seconds))

    async def leave_group(self, stream: str, group: str, member: str) -> int:
        """Leave a consumer group: other members get the partitions; returns the number of these partitions."""
        return await self._run(consumer_groups.leave_group(stream, group, member))

    async def read_stream(
        self, stream: str, group: str, member: str, max_messages: int = 100, *, wait_seconds: float = 0.0
    ) -> list[StreamMessage]:
        """Read messages of this member's partitions; the same messages are returned until they are committed.

        Reading joins the group and keeps the member in it. In each partition messages come in the order of positions,
        and a message that commits later is not skipped. If there is no message to read, the call waits up to
        `wait_seconds`.
        """
        return await self._run(consumer_groups.read_stream(stream, group, member, max_messages, wait_seconds))

    async def commit_offset(self, stream: str, group: str, member: str, place: Place, epoch: int) -> bool:
        """Commit that the group has read the partition up to this place.

        Returns False when the member has lost the partition, the group was moved, or this place is already committed.
        The caller's transaction commits its own work and the offset together: roll it back when the result is False. A
        place that no read has returned raises `InvalidArgument`. Over HTTP the offset commits by itself.
        """
        return await self._run(consumer_groups.commit_offset(stream, group, member, *place, epoch))

    async def commit_messages(self, stream: str, group: str, member: str, messages: Iterable[StreamMessage]) -> bool:
        """Commit the offsets of these messages, one for each partition; False when any commit was refused."""
        committed = [
            await self.commit_offset(stream, group, member, Place(last.partition, last.position), last.epoch)
            for last in last_of_each(messages)
        ]
        return all(committed)

    async def seek(
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
        """Move a consumer group to another point; returns each partition that moves, or with `dry_run` would move.

        Commits of messages that members have read before are refused from then on.
        """
        return await self._run(consumer_groups.seek(stream, group, point, at, partition, position, dry_run))

    async def subscribe(self, source: str, target: str, *, filter: str = "", delay_seconds: float | None = None) -> int:
        """Send each message of the queue `source` to the queue `target` too, if the filter selects it; returns an id.

        The copy is sent in the transaction of the send. While the subscription is paused, or the target is closed or
        full, copies are held and sent later. Repeating it sets filter and delay.
        """
        return await self._run(subscriptions.subscribe(source, target, filter, delay_seconds))

    async def unsubscribe(self, source: str, target: str, *, discard: bool = False) -> bool:
        """End a subscription of queues; True when there was one. `discard` loses the copies that it holds."""
        return await self._run(subscriptions.unsubscribe(source, target, discard))

    async def pause_subscription(self, source: str, target: str, paused: bool = True) -> bool:
        """Pause or resume one subscription of queues; True when that changed it. A paused one holds its copies."""
        return await self._run(subscriptions.pause_subscription(source, target, paused))

    async def list_subscriptions(self, source: str | None = None) -> list[Subscription]:
        """List the subscriptions of one queue or all, with the copies that each could not send yet."""
        return await self._run(subscriptions.list_subscriptions(source))

    async def close(self) -> None:
        """Close the connections that the client has opened. A later call opens others."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, call: Call[T]) -> T:
        """Carry out one call and return its result."""
        raise NotImplementedError

    async def _send(self, call: Call[T]) -> T:
        """Carry out one call that sends payloads, and return its result."""
        return await self._run(call)

    def _received(self, queue: str, messages: list[Message], began_ns: int) -> list[Message]:
        received(queue, messages, began_ns)
        return [with_body(message, self._bodies) for message in messages]


class AsyncDatabaseVerbs(AsyncVerbs):
    """The verbs of a client in the database: those of every client, `purge` and `once`."""

    async def purge(
        self,
        queue: str,
        *,
        through_message_id: int | None = None,
        states: Sequence[str] = ("ready", "scheduled", "waiting"),
        max_messages: int = 10_000,
        keep_seconds: float = queues.TRASH_SECONDS,
    ) -> int:
        """Remove up to `max_messages` messages from the queue; returns their number. Repeat until it returns 0.

        The messages stay in the trash for `keep_seconds`, where an undo in the console restores them; with 0 they are
        deleted for good.
        """
        return await self._run(queues.purge(queue, through_message_id, states, max_messages, keep_seconds))

    async def capture(
        self,
        table: str,
        stream: str,
        *,
        columns: Sequence[str] | None = None,
        key: Sequence[str] | None = None,
        filter: str = "",
        backfill: bool = True,
    ) -> int:
        """Append each change of a table to a stream, in the transaction of the writer; returns the id of the capture.

        `columns` are the columns in an event (None: all); `key` are the columns that identify a row (None: the primary
        key). With `backfill`, existing rows are appended too.
        """
        return await self._run(captures.capture(table, stream, columns, key, filter, backfill))

    async def uncapture(self, table: str, stream: str) -> bool:
        """Stop the capture of a table; True when there was one. Its events stay in the stream."""
        return await self._run(captures.uncapture(table, stream))

    async def once(
        self, message: Message | int, *, handler: str = "", window_seconds: float = settling.ONCE_SECONDS
    ) -> bool:
        """Enter a message in the inbox, in the transaction of the handler's own work; False when it was entered before.

        Call it first in that transaction, and skip the work when it is False: then a message that is delivered again
        after a crash between the commit and the ack takes effect once. `handler` names the work that is done once: each
        handler has its own entries. An entry lasts for the window, at most a week.
        """
        message_id = message.id if isinstance(message, Message) else message
        return await self._run(settling.once(message_id, handler, window_seconds))
