"""What a consumer says of its deliveries, and what became of a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TypedDict

from signalbox import arguments
from signalbox.messages import FAILURE_REASONS, FailureReason, Message, NackOutcome, Outcome, handle_of
from signalbox.payloads import RESULT_BYTES, STATE_BYTES, encode_within
from signalbox.statements.statement import Row, Statement, handles_of, only_value
from signalbox.unreadable import decode


class NackOptions(TypedDict, total=False):
    """What may be recorded of a failed delivery."""

    delay_seconds: float | None  # until the retry; None: the queue's backoff
    error_class: str | None
    error: str | None
    details: str | None  # the stack, usually
    reason: FailureReason  # "runtime_error" unless said otherwise
    state: object  # JSON for the next delivery; None: what there was stays


def ack(receipts: Iterable[Message | str], results: Sequence[object] | None = None) -> Statement[dict[str, bool]]:
    """For each receipt handle: is the message done with (True), or was the lease no longer held (False)?"""
    handles = handles_of(receipts)
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
            "reason": arguments.one_of("reason", options.get("reason", "runtime_error"), FAILURE_REASONS),
            "state": _encode_given(STATE_BYTES, "state", options.get("state")),
        },
        only_value,
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
        {"handles": handles_of(receipts), "seconds": arguments.seconds("seconds", seconds)},
        lambda rows: {row[0]: row[1] for row in rows},
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


def _outcome(message_id: int, row: Row) -> Outcome:
    queue, status, outcome, receive_count, settled_at, result = row
    return Outcome(
        message_id=message_id,
        queue=queue,
        status=status,
        outcome=outcome,
        receive_count=receive_count,
        settled_at=settled_at and settled_at.astimezone(UTC),
        result=decode(result, "result") if result else None,
    )


def _as_is(_: str, value: object) -> object:
    return value


def _encode_result(field: str, value: object) -> str | None:
    return _encode_given(RESULT_BYTES, field, value)


def _encode_given(most_bytes: int, field: str, value: object) -> str | None:
    return None if value is None else encode_within(most_bytes, value, field)
