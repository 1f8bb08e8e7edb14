"""Many at once, each for itself: send_each and nack_batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

from signalbox import arguments
from signalbox.durations import PUBLISH
from signalbox.errors import InvalidArgument, SignalboxError, refusal_of
from signalbox.messages import Message, NackOutcome
from signalbox.statements.sending import SendOptions, columns, send
from signalbox.statements.settling import NackOptions, nack
from signalbox.statements.statement import Row, Statement

Refused = SignalboxError
"""Why a message was not sent, as `send` would have raised it."""

_SEND_EACH: LiteralString = """
select message_id, refusal, message, detail, field
from signalbox.send_each(
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


def send_each(queue: str, messages: Sequence[tuple[object, SendOptions]]) -> Statement[list[int | Refused]]:
    """Payloads with what is said of each; the ids, or why refused. What is wrong in itself is not tried."""
    tried = [_send_or_refusal(queue, payload, options) for payload, options in messages]
    sends = [one for one in tried if isinstance(one, Statement)]

    def read(rows: list[Row]) -> list[int | Refused]:
        answers = iter(rows)
        return [_answer(next(answers)) if isinstance(one, Statement) else one for one in tried]

    return Statement(_SEND_EACH, {**columns(sends), "queue": arguments.text("queue", queue)}, read, PUBLISH)


def nack_batch(nacks: Iterable[tuple[Message | str, NackOptions]]) -> Statement[list[NackOutcome | None]]:
    """Receipts with what is said of each; what becomes of each message, None where the lease was no longer held."""
    each = [nack(receipt, options).parameters for receipt, options in nacks]

    def column(name: str) -> list[Any] | None:
        values = [one[name] for one in each]
        return None if all(value is None for value in values) else values

    return Statement(
        """
        select outcome
        from signalbox.nack_batch(
          receipt_handles => %(receipt_handles)s::text[],
          delay_seconds => %(delay_seconds)s::double precision[],
          error_classes => %(error_classes)s::text[],
          errors => %(errors)s::text[],
          details => %(details)s::text[],
          reasons => %(reasons)s::text[],
          states => %(states)s::jsonb[]
        )
        """,
        {
            "receipt_handles": [one["receipt_handle"] for one in each],
            "delay_seconds": column("delay_seconds"),
            "error_classes": column("error_class"),
            "errors": column("error"),
            "details": column("details"),
            "reasons": column("reason"),
            "states": column("state"),
        },
        lambda rows: [row[0] for row in rows],
    )


def _send_or_refusal(queue: str, payload: object, options: SendOptions) -> Statement[int] | Refused:
    try:
        return send(queue, payload, options)
    except InvalidArgument as error:
        return error


def _answer(row: Row) -> int | Refused:
    message_id, sqlstate, message, detail, field = row
    return message_id if sqlstate is None else refusal_of(sqlstate, message, detail, field or None)
