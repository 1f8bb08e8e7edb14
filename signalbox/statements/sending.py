"""send and send_batch, and how the payloads of either become pointers to bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, LiteralString, TypedDict, cast

from signalbox import arguments
from signalbox.durations import PUBLISH
from signalbox.errors import InvalidArgument
from signalbox.payloads import encode, encode_attributes
from signalbox.statements.statement import Statement, T, only_value
from signalbox.tracing.context import MOST_CHARACTERS, carried, is_printable, trace_id_of


class SendOptions(TypedDict, total=False):
    """What may be said about a message besides its payload."""

    attributes: Mapping[str, object] | None  # small facts about the payload, as a JSON object
    priority: int  # 0 (the default) to 9, higher first
    delay_seconds: float | None  # None: the queue's own delay
    group_id: str | None
    deduplication_id: str | None  # sent again within the queue's window, it returns the first message's id
    trace_id: str | None  # None: that of the span under way, where there is one
    correlation_id: str | None  # kept among the attributes; None: that of the message being handled, if any


class BatchOptions(TypedDict, total=False):
    """What may be said about the messages of a batch: one entry for each payload, in the same order."""

    attributes: Sequence[Mapping[str, object] | None] | None
    priorities: Sequence[int] | None
    delay_seconds: Sequence[float | None] | None
    group_ids: Sequence[str | None] | None
    deduplication_ids: Sequence[str | None] | None
    trace_ids: Sequence[str | None] | None
    correlation_ids: Sequence[str | None] | None


def send(queue: str, payload: object, options: SendOptions) -> Statement[int]:
    """One message; its id."""
    attributes = carried(options.get("attributes"), _correlation_id("correlation_id", options.get("correlation_id")))
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
            "attributes": encode_attributes(attributes),
            "priority": arguments.priority("priority", options.get("priority", 0)),
            "delay_seconds": arguments.optional_seconds("delay_seconds", options.get("delay_seconds")),
            "group_id": arguments.optional_text("group_id", options.get("group_id")),
            "deduplication_id": arguments.optional_text("deduplication_id", options.get("deduplication_id")),
            "trace_id": arguments.optional_text("trace_id", options.get("trace_id")) or _trace_id(attributes),
            "body_sha256": None,
        },
        only_value,
        PUBLISH,
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
    parameters = {**columns(sends), "queue": sends[0].parameters["queue"]}
    return Statement(_SEND_BATCH, parameters, lambda rows: [row[0] for row in rows], PUBLISH)


def columns(sends: Sequence[Statement[int]]) -> dict[str, Any]:
    """What several `send`s say, as the arrays of a batch."""

    def column(name: str) -> list[Any] | None:
        values = [send.parameters[name] for send in sends]
        return None if all(value is None for value in values) else values

    return {
        "payloads": [send.parameters["payload"] for send in sends],
        "attributes": column("attributes"),
        "priorities": column("priority") if any(send.parameters["priority"] for send in sends) else None,
        "delay_seconds": column("delay_seconds"),
        "group_ids": column("group_id"),
        "deduplication_ids": column("deduplication_id"),
        "trace_ids": column("trace_id"),
        "body_sha256s": None,
    }


def send_batch(queue: str, payloads: Sequence[object], options: BatchOptions) -> Statement[list[int]]:
    """Many messages, all or none; their ids in the order of the payloads."""

    def column(name: str, check: Callable[[str, Any], Any]) -> list[Any] | None:
        values = cast("Mapping[str, Sequence[object] | None]", options).get(name)
        return None if values is None else arguments.column(name, values, len(payloads), check)

    attributes, trace_ids = _carried_columns(
        column("attributes", lambda _, value: value),
        column("trace_ids", arguments.optional_text),
        column("correlation_ids", _correlation_id),
        len(payloads),
    )
    return Statement(
        _SEND_BATCH,
        {
            "queue": arguments.text("queue", queue),
            "payloads": [encode(payload, f"payloads[{index}]") for index, payload in enumerate(payloads)],
            "attributes": attributes,
            "priorities": column("priorities", arguments.priority),
            "delay_seconds": column("delay_seconds", arguments.optional_seconds),
            "group_ids": column("group_ids", arguments.optional_text),
            "deduplication_ids": column("deduplication_ids", arguments.optional_text),
            "trace_ids": trace_ids,
            "body_sha256s": None,
        },
        lambda rows: [row[0] for row in rows],
        PUBLISH,
    )


def _carried_columns(
    attributes: list[Any] | None, trace_ids: list[Any] | None, correlation_ids: list[Any] | None, count: int
) -> tuple[list[Any] | None, list[Any] | None]:
    """Attributes and trace ids with what goes along with each message; None for a column without any."""
    together = [
        carried(attributes[place] if attributes else None, correlation_ids[place] if correlation_ids else None)
        for place in range(count)
    ]
    traces = [(trace_ids[place] if trace_ids else None) or _trace_id(one) for place, one in enumerate(together)]
    return (
        [encode_attributes(one, f"attributes[{place}]") for place, one in enumerate(together)]
        if attributes is not None or any(one is not None for one in together)
        else None,
        traces if trace_ids is not None or any(traces) else None,
    )


def _trace_id(attributes: Any) -> str | None:
    return trace_id_of(attributes) if isinstance(attributes, Mapping) else None


def _correlation_id(field: str, value: object) -> str | None:
    given = arguments.optional_text(field, value)
    if given is not None and not 1 <= len(given) <= MOST_CHARACTERS:
        raise InvalidArgument(f"{field} must have from 1 to {MOST_CHARACTERS} characters", field=field)
    if given is not None and not is_printable(given):
        raise InvalidArgument(f"{field} has a control character: use printable characters", field=field)
    return given


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
        only_value,
    )
