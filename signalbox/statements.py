"""Each verb as one SQL statement with its parameters and the reading of its answer.

Both clients, and anything else with a psycopg connection, run these; nothing here touches a connection.
JSON travels as text in both directions, so that a connection whose owner has replaced psycopg's adapters
(Django does) gives the same messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, LiteralString, TypedDict, TypeVar, cast

from signalbox import arguments
from signalbox.messages import AckedAndReceived, Body, FailureReason, Message, NackOutcome, Outcome, handle_of
from signalbox.payloads import RESULT_BYTES, STATE_BYTES, encode, encode_attributes, encode_within

T = TypeVar("T")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement(Generic[T]):
    """One statement; `read` turns its rows into what the verb returns."""

    sql: LiteralString
    parameters: Mapping[str, Any]
    read: Callable[[list[Row]], T]


class SendOptions(TypedDict, total=False):
    """What may be said about a message besides its payload."""

    attributes: Mapping[str, object] | None  # small facts about the payload, as a JSON object
    priority: int  # 0 (the default) to 9, higher first
    delay_seconds: float | None  # None: the queue's own delay
    group_id: str | None
    deduplication_id: str | None  # sent again within the queue's window, it returns the first message's id
    trace_id: str | None


class BatchOptions(TypedDict, total=False):
    """What may be said about the messages of a batch: one entry for each payload, in the same order."""

    attributes: Sequence[Mapping[str, object] | None] | None
    priorities: Sequence[int] | None
    delay_seconds: Sequence[float | None] | None
    group_ids: Sequence[str | None] | None
    deduplication_ids: Sequence[str | None] | None
    trace_ids: Sequence[str | None] | None


class NackOptions(TypedDict, total=False):
    """What may be recorded of a failed delivery."""

    delay_seconds: float | None  # until the retry; None: the queue's backoff
    error_class: str | None
    error: str | None
    details: str | None  # the stack, usually
    reason: FailureReason  # "runtime_error" unless said otherwise
    state: object  # JSON for the next delivery; None: what there was stays


def send(queue: str, payload: object, options: SendOptions) -> Statement[int]:
    """One message; its id."""
    return Statement(
        """
        select signalbox.send(
          queue => %(queue)s::text,
          payload => %(payload)s::jsonb,
          attributes => %(attributes)s::jsonb,
          priority => %(priority)s::int,
          delay_seconds => %(delay_seconds)s::double precision,
          group_id => %(group_id)s::text,
          deduplication_id => %(deduplication_id)s::text,
          trace_id => %(trace_id)s::text,
          body_sha256 => %(body_sha256)s::bytea
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "payload": encode(payload),
            "attributes": encode_attributes(options.get("attributes")),
            "priority": arguments.priority("priority", options.get("priority", 0)),
            "delay_seconds": arguments.optional_seconds("delay_seconds", options.get("delay_seconds")),
            "group_id": arguments.optional_text("group_id", options.get("group_id")),
            "deduplication_id": arguments.optional_text("deduplication_id", options.get("deduplication_id")),
            "trace_id": arguments.optional_text("trace_id", options.get("trace_id")),
            "body_sha256": None,
        },
        _only_value,
    )


_SEND_BATCH: LiteralString = """
select signalbox.send_batch(
  queue => %(queue)s::text,
  payloads => %(payloads)s::jsonb[],
  attributes => %(attributes)s::jsonb[],
  priorities => %(priorities)s::int[],
  delay_seconds => %(delay_seconds)s::double precision[],
  group_ids => %(group_ids)s::text[],
  deduplication_ids => %(deduplication_ids)s::text[],
  trace_ids => %(trace_ids)s::text[],
  body_sha256s => %(body_sha256s)s::bytea[]
)
"""


def send_together(sends: Sequence[Statement[int]]) -> Statement[list[int]]:
    """Several `send`s to one queue as one batch, all or none; their ids in the order given."""

    def column(name: str) -> list[Any] | None:
        values = [send.parameters[name] for send in sends]
        return None if all(value is None for value in values) else values

    return Statement(
        _SEND_BATCH,
        {
            "queue": sends[0].parameters["queue"],
            "payloads": column("payload"),
            "attributes": column("attributes"),
            "priorities": column("priority"),
            "delay_seconds": column("delay_seconds"),
            "group_ids": column("group_id"),
            "deduplication_ids": column("deduplication_id"),
            "trace_ids": column("trace_id"),
            "body_sha256s": None,
        },
        lambda rows: [row[0] for row in rows],
    )


def send_batch(queue: str, payloads: Sequence[object], options: BatchOptions) -> Statement[list[int]]:
    """Many messages, all or none; their ids in the order of the payloads."""

    def column(name: str, check: Callable[[str, Any], Any]) -> list[Any] | None:
        values = cast("Mapping[str, Sequence[object] | None]", options).get(name)
        return None if values is None else arguments.column(name, values, len(payloads), check)

    return Statement(
        _SEND_BATCH,
        {
            "queue": arguments.text("queue", queue),
            "payloads": [encode(payload, f"payloads[{index}]") for index, payload in enumerate(payloads)],
            "attributes": column("attributes", lambda field, value: encode_attributes(value, field)),
            "priorities": column("priorities", arguments.priority),
            "delay_seconds": column("delay_seconds", arguments.optional_seconds),
            "group_ids": column("group_ids", arguments.optional_text),
            "deduplication_ids": column("deduplication_ids", arguments.optional_text),
            "trace_ids": column("trace_ids", arguments.optional_text),
            "body_sha256s": None,
        },
        lambda rows: [row[0] for row in rows],
    )


def payloads_of(statement: Statement[T]) -> list[str]:
    """What a send or a batch carries, as JSON text."""
    given = statement.parameters
    return cast("list[str]", given["payloads"]) if "payloads" in given else [given["payload"]]


def with_bodies(statement: Statement[T], hashes: Mapping[int, str]) -> Statement[T]:
    """The same send or batch, in which the payloads at these places are replaced by pointers to their bodies."""
    texts = ["null" if place in hashes else text for place, text in enumerate(payloads_of(statement))]
    pointers = [bytes.fromhex(hashes[place]) if place in hashes else None for place in range(len(texts))]
    changed = (
        {"payloads": texts, "body_sha256s": pointers}
        if "payloads" in statement.parameters
        else {"payload": texts[0], "body_sha256": pointers[0]}
    )
    return replace(statement, parameters={**statement.parameters, **changed})


def claim_body(sha256: str, size: int) -> Statement[bool]:
    """Hold this body for the transaction under way; True when nobody had sent it before."""
    return Statement(
        "select signalbox.claim_body(sha256 => %(sha256)s::bytea, bytes => %(bytes)s::bigint)",
        {"sha256": bytes.fromhex(sha256), "bytes": size},
        _only_value,
    )


def receive(
    queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None, *, durable: bool
) -> Statement[list[Message]]:
    """Up to `max_messages` messages, leased to the caller."""
    return _receive(queue, max_messages, visibility_timeout, consumer, durable, None, _messages)


def ack_and_receive(
    receipts: Iterable[Message | str],
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
) -> Statement[AckedAndReceived]:
    """What `ack` says of these handles, and up to `max_messages` further messages."""
    handles = _handles(receipts)

    def read(rows: list[Row]) -> AckedAndReceived:
        refused = {row[1] for row in rows if row[0] is None}
        return AckedAndReceived({handle: handle not in refused for handle in handles}, _messages(rows))

    return _receive(queue, max_messages, visibility_timeout, consumer, True, handles, read)


def _receive(
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
    durable: bool,
    acknowledge: list[str] | None,
    read: Callable[[list[Row]], T],
) -> Statement[T]:
    return Statement(
        """
        select
          message_id,
          receipt_handle,
          receive_count,
          payload::text,
          attributes::text,
          group_id,
          priority,
          sent_at,
          deadline,
          state::text,
          body::text,
          extract(epoch from deadline - clock_timestamp())::double precision
        from signalbox.receive(
          queue => %(queue)s::text,
          max_messages => %(max_messages)s::int,
          visibility_timeout => %(visibility_timeout)s::double precision,
          consumer => %(consumer)s::text,
          durable => %(durable)s::boolean,
          acknowledge => %(acknowledge)s::text[]
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "max_messages": arguments.count("max_messages", max_messages),
            "visibility_timeout": arguments.optional_seconds("visibility_timeout", visibility_timeout),
            "consumer": arguments.optional_text("consumer", consumer),
            "durable": durable,
            "acknowledge": acknowledge,
        },
        read,
    )


def ack(receipts: Iterable[Message | str], results: Sequence[object] | None = None) -> Statement[dict[str, bool]]:
    """For each receipt handle: is the message done with (True), or was the lease no longer held (False)?"""
    handles = _handles(receipts)
    if results is None or all(result is None for result in arguments.column("results", results, len(handles), _as_is)):
        return Statement(
            "select receipt_handle, acked from signalbox.ack(receipt_handles => %(handles)s::text[])",
            {"handles": handles},
            lambda rows: {row[0]: row[1] for row in rows},
        )
    return Statement(
        """
        select receipt_handle, acked
        from signalbox.ack(receipt_handles => %(handles)s::text[], results => %(results)s::jsonb[])
        """,
        {"handles": handles, "results": arguments.column("results", results, len(handles), _encode_result)},
        lambda rows: {row[0]: row[1] for row in rows},
    )


def nack(receipt: Message | str, options: NackOptions) -> Statement[NackOutcome | None]:
    """One failed delivery; what becomes of the message, or None when the lease was no longer held."""
    return Statement(
        """
        select signalbox.nack(
          receipt_handle => %(receipt_handle)s::text,
          delay_seconds => %(delay_seconds)s::double precision,
          error_class => %(error_class)s::text,
          error => %(error)s::text,
          details => %(details)s::text,
          reason => %(reason)s::text,
          state => %(state)s::jsonb
        )
        """,
        {
            "receipt_handle": arguments.text("receipt_handle", handle_of(receipt)),
            "delay_seconds": arguments.optional_seconds("delay_seconds", options.get("delay_seconds")),
            "error_class": arguments.storable_text(options.get("error_class")),
            "error": arguments.storable_text(options.get("error")),
            "details": arguments.storable_text(options.get("details")),
            "reason": arguments.text("reason", options.get("reason", "runtime_error")),
            "state": _encode_given(STATE_BYTES, "state", options.get("state")),
        },
        _only_value,
    )


def change_visibility(receipts: Iterable[Message | str], seconds: float) -> Statement[dict[str, datetime | None]]:
    """For each receipt handle: when its lease now ends, or None if it was no longer held."""
    return Statement(
        """
        select receipt_handle, deadline
        from signalbox.change_visibility_batch(
          receipt_handles => %(handles)s::text[], seconds => %(seconds)s::double precision
        )
        """,
        {"handles": _handles(receipts), "seconds": arguments.seconds("seconds", seconds)},
        lambda rows: {row[0]: row[1] for row in rows},
    )


def purge(queue: str, through_message_id: int | None, states: Sequence[str], max_messages: int) -> Statement[int]:
    """One step of a purge; how many messages it took. Zero: there is nothing left to take."""
    return Statement(
        """
        select signalbox.purge(
          queue => %(queue)s::text,
          through_message_id => %(through_message_id)s::bigint,
          states => %(states)s::text[],
          max_messages => %(max_messages)s::int
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "through_message_id": through_message_id,
            "states": arguments.column("states", states, len(states), arguments.text),
            "max_messages": arguments.count("max_messages", max_messages),
        },
        _only_value,
    )


def create_queue(name: str, settings: Mapping[str, object], tenant: str | None = None) -> Statement[int]:
    """A queue of this name with these settings; its id. Repeating it with equal settings changes nothing."""
    return Statement(
        """
        select signalbox.create_queue(
          name => %(name)s::text, settings => %(settings)s::jsonb, tenant => %(tenant)s::text
        )
        """,
        {
            "name": arguments.text("name", name),
            "settings": encode(dict(settings), "settings"),
            "tenant": arguments.optional_text("tenant", tenant),
        },
        _only_value,
    )


def configure_queue(name: str, settings: Mapping[str, object]) -> Statement[int]:
    """The settings named become these, the others stay; the queue's id."""
    return Statement(
        "select signalbox.configure_queue(name => %(name)s::text, settings => %(settings)s::jsonb)",
        {"name": arguments.text("name", name), "settings": encode(dict(settings), "settings")},
        _only_value,
    )


def begin_long_poll(queue: str) -> Statement[int | None]:
    """A place among the long polls of the queue's tenant; None where it has no limit."""
    return Statement(
        "select signalbox.begin_long_poll(queue => %(queue)s::text)",
        {"queue": arguments.text("queue", queue)},
        _only_value,
    )


def end_long_poll(queue: str, place: int) -> Statement[bool]:
    """Give the place back; False when this connection did not have it."""
    return Statement(
        "select signalbox.end_long_poll(queue => %(queue)s::text, place => %(place)s::int)",
        {"queue": queue, "place": place},
        _only_value,
    )


def announce_consumer(queue: str, consumer: str, details: Mapping[str, object]) -> Statement[None]:
    """Tell the console that this consumer is alive, and what it is."""
    return Statement(
        """
        select signalbox.announce_consumer(
          queue => %(queue)s::text, consumer => %(consumer)s::text, details => %(details)s::jsonb
        )
        """,
        {
            "queue": arguments.text("queue", queue),
            "consumer": arguments.text("consumer", consumer),
            "details": encode(dict(details), "details"),
        },
        lambda _: None,
    )


def message_outcome(message_id: int) -> Statement[Outcome | None]:
    """Where the message stands, or None when nothing is known of it."""
    return Statement(
        """
        select queue, status, outcome, receive_count, settled_at, result::text
        from signalbox.message_outcome(message_id => %(message_id)s::bigint)
        """,
        {"message_id": arguments.count("message_id", message_id)},
        lambda rows: _outcome(message_id, rows[0]) if rows else None,
    )


def _as_is(_: str, value: object) -> object:
    return value


def _encode_given(most_bytes: int, field: str, value: object) -> str | None:
    return None if value is None else encode_within(most_bytes, value, field)


def _encode_result(field: str, value: object) -> str | None:
    return _encode_given(RESULT_BYTES, field, value)


def _outcome(message_id: int, row: Row) -> Outcome:
    queue, status, outcome, receive_count, settled_at, result = row
    return Outcome(
        message_id=message_id,
        queue=queue,
        status=status,
        outcome=outcome,
        receive_count=receive_count,
        settled_at=settled_at and settled_at.astimezone(UTC),
        result=json.loads(result) if result else None,
    )


def _handles(receipts: Iterable[Message | str]) -> list[str]:
    handles = [receipts] if isinstance(receipts, str) else [handle_of(receipt) for receipt in receipts]
    return arguments.column("receipt_handles", handles, len(handles), arguments.text)


def _only_value(rows: list[Row]) -> Any:
    return rows[0][0]


def _messages(rows: list[Row]) -> list[Message]:
    """The deliveries; a row without a message names a handle that was no longer held."""
    return [_message(row) for row in rows if row[0] is not None]


def _message(row: Row) -> Message:
    message_id, handle, receive_count, payload, attributes, group_id, priority, sent_at, deadline, state, body, left = (
        row
    )
    return Message(
        id=message_id,
        receipt_handle=handle,
        receive_count=receive_count,
        payload=json.loads(payload),
        attributes=json.loads(attributes) if attributes else {},
        group_id=group_id,
        priority=priority,
        sent_at=sent_at.astimezone(UTC),
        deadline=deadline.astimezone(UTC),
        lease_seconds=left,
        state=json.loads(state) if state else None,
        body=Body(**json.loads(body)) if body else None,
    )
