"""Settling deliveries: ack, nack, defer, change_visibility; and the outcome of a message.

Over HTTP one delivery is settled as a batch of one: the answer says whether each lease was still held.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypedDict

from signalbox import arguments
from signalbox.calls import wire_names
from signalbox.calls.call import Call, Function, Row, T, each_or_none, handles_of, only_value, only_values, statement
from signalbox.calls.request import (
    Request,
    Requests,
    address,
    array,
    by_queue,
    document,
    given,
    number_in,
    queue_and_handle,
)
from signalbox.connections.connections import check_wait
from signalbox.connections.reconnect import Backoff
from signalbox.errors import MessageNotFound, NotSettled, OutcomeUnknown
from signalbox.messages import FAILURE_REASONS, FailureReason, Message, NackOutcome, Outcome, handle_of
from signalbox.payloads.encoding import RESULT_BYTES, STATE_BYTES, encode_within
from signalbox.payloads.unreadable import decode

#: The most characters of an error's class: the database cuts a longer one, and the HTTP API refuses it.
MAX_CLASS_CHARACTERS = 200

#: The first pause and the longest one of `wait_settled` between two calls, in seconds.
FIRST_PAUSE_SECONDS = 0.01
MAX_PAUSE_SECONDS = 1.0


#: Seconds for which an entry of the inbox lasts, unless the call names fewer.
ONCE_SECONDS = 604_800.0


class NackOptions(TypedDict, total=False):
    """The options of a nack: facts about the failed delivery."""

    delay_seconds: float | None  # seconds until the retry; None: the queue's backoff
    error_class: str | None
    error: str | None
    details: str | None  # the stack, usually
    reason: FailureReason  # the default is "runtime_error"
    state: object  # JSON for the next delivery; None keeps the earlier state


_ACK = statement("ack", "receipt_handles text[], results jsonb[]", "receipt_handle, acked")
_NACK = statement(
    "nack",
    "receipt_handle text, delay_seconds double precision, error_class text, error text, details text, reason text,"
    " state jsonb",
)
_NACK_BATCH = statement(
    "nack_batch",
    "receipt_handles text[], delay_seconds double precision[], error_classes text[], errors text[], details text[],"
    " reasons text[], states jsonb[]",
    "outcome",
)
_DEFER = statement("defer", "receipt_handle text, delay_seconds double precision, state jsonb")
_CHANGE_VISIBILITY = statement(
    "change_visibility_batch", "receipt_handles text[], seconds double precision", "receipt_handle, deadline"
)
_OUTCOME = statement(
    "message_outcome", "message_id bigint", "queue, status, outcome, receive_count, settled_at, result::text"
)


def ack(receipts: Iterable[Message | str], results: Sequence[object] | None = None) -> Call[dict[str, bool]]:
    handles = handles_of(receipts)
    json_results = [] if results is None else arguments.column("results", results, len(handles), _encode_json)
    return Call(
        _ACK,
        {"receipt_handles": handles, "results": each_or_none(json_results)},
        dict,
        _request_ack,
    )


def _request_ack(done: Mapping[str, Any]) -> Requests[dict[str, bool]]:
    def members(part: Mapping[int, str]) -> dict[str, str | None]:
        results = done["results"] and array(done["results"][index] or "null" for index in part)
        return {"receiptHandles": given(list(part.values())), "results": results}

    return _requests(done["receipt_handles"], ":ack", members, is_acked)


def is_acked(result: Mapping[str, Any]) -> bool:
    """Return whether the lease was still held, by the result of one ack."""
    return bool(result["status"] == "acked")


def nack(receipt: Message | str, options: NackOptions) -> Call[NackOutcome | None]:
    return Call(
        _NACK,
        {
            **arguments.checked(receipt_handle=handle_of(receipt), delay_seconds=options.get("delay_seconds")),
            "error_class": arguments.storable_text(options.get("error_class")),
            "error": arguments.storable_text(options.get("error")),
            "details": arguments.storable_text(options.get("details")),
            "reason": arguments.one_of("reason", options.get("reason", "runtime_error"), FAILURE_REASONS),
            "state": _encode_json("state", options.get("state"), STATE_BYTES),
        },
        only_value,
        _request_nack,
    )


def _request_nack(failure: Mapping[str, Any]) -> Requests[NackOutcome | None]:
    return (yield from _request_nacks([failure]))[0]


def nack_batch(nacks: Iterable[tuple[Message | str, NackOptions]]) -> Call[list[NackOutcome | None]]:
    failures = [nack(receipt, options).parameters for receipt, options in nacks]
    columns = {column: each_or_none(failure[name] for failure in failures) for name, column in _FAILURE_COLUMNS.items()}
    return Call(
        _NACK_BATCH,
        columns | {"receipt_handles": columns["receipt_handles"] or []},
        only_values,
        lambda _: _request_nacks(failures),
    )


def _request_nacks(failures: Sequence[Mapping[str, Any]]) -> Requests[list[NackOutcome | None]]:
    def members(part: Mapping[int, str]) -> dict[str, str | None]:
        return {"messages": array(_failure(failures[index]) for index in part)}

    handles = [failure["receipt_handle"] for failure in failures]
    outcomes = yield from _requests(handles, ":nack", members, lambda result: _NACK_OUTCOMES[result["status"]])
    return [outcomes[handle] for handle in handles]


_FAILURE_COLUMNS = {
    "receipt_handle": "receipt_handles",
    "delay_seconds": "delay_seconds",
    "error_class": "error_classes",
    "error": "errors",
    "details": "details",
    "reason": "reasons",
    "state": "states",
}
_NACK_OUTCOMES: Mapping[str, NackOutcome | None] = {"retry": "retry", "dead": "dead", "lost": None}


def defer(receipt: Message | str, delay_seconds: float, state: object) -> Call[datetime | None]:
    return Call(
        _DEFER,
        {
            "receipt_handle": arguments.checked(receipt_handle=handle_of(receipt))["receipt_handle"],
            "delay_seconds": arguments.seconds("delay_seconds", delay_seconds),
            "state": _encode_json("state", state, STATE_BYTES),
        },
        only_value,
        _request_defer,
    )


def _request_defer(deferral: Mapping[str, Any]) -> Requests[datetime | None]:
    def members(part: Mapping[int, str]) -> dict[str, str | None]:
        return {"messages": array(_deferral(handle, deferral) for handle in part.values())}

    handle = deferral["receipt_handle"]
    return (yield from _requests([handle], ":defer", members, lambda result: _time_of(result.get("dueAt"))))[handle]


def _deferral(handle: str, deferral: Mapping[str, Any]) -> str:
    return document(
        {
            "receiptHandle": given(handle),
            "delaySeconds": given(deferral["delay_seconds"]),
            "state": deferral["state"],
        }
    )


def change_visibility(receipts: Iterable[Message | str], seconds: float) -> Call[dict[str, datetime | None]]:
    return Call(
        _CHANGE_VISIBILITY,
        {"receipt_handles": handles_of(receipts), "seconds": arguments.seconds("seconds", seconds)},
        dict,
        _request_change_visibility,
    )


def _request_change_visibility(change: Mapping[str, Any]) -> Requests[dict[str, datetime | None]]:
    def members(part: Mapping[int, str]) -> dict[str, str | None]:
        return {"receiptHandles": given(list(part.values())), "visibilityTimeoutSeconds": given(change["seconds"])}

    return _requests(
        change["receipt_handles"],
        ":change-visibility",
        members,
        lambda result: _time_of(result.get("deadline")),
        wire_names.VISIBILITY,
        ends_leases=not change["seconds"],
    )


def message_outcome(message_id: int) -> Call[Outcome | None]:
    return Call(
        _OUTCOME,
        {"message_id": arguments.count("message_id", message_id)},
        lambda rows: _outcome(message_id, rows[0]) if rows else None,
        _request_message_outcome,
    )


def _request_message_outcome(message: Mapping[str, Any]) -> Requests[Outcome | None]:
    path = address("messages", f"msg_{message['message_id']}")
    answer = yield Request("GET", path, instead={"message-not-found": None})
    return None if answer.document is None else _outcome_in(answer.document)


class SettledWait:
    """A wait until a message is settled: it repeats a query, with growing pauses and jitter.

    A NOTIFY for each settled message would serialise the commits of all consumers.
    """

    def __init__(self, message_id: int, timeout: float | None) -> None:
        #: The query for the message's state; it refuses a connection whose transaction would stay open during the wait.
        self.call = replace(message_outcome(message_id), check=check_wait)
        self._message_id = message_id
        self._timeout = arguments.optional_seconds("timeout", timeout)
        self._ends_at = math.inf if self._timeout is None else time.monotonic() + self._timeout
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)

    def pause(self, outcome: Outcome | None) -> float:
        """Seconds until the next call. Raises MessageNotFound, or NotSettled when the time is over."""
        if outcome is None:
            raise MessageNotFound(
                f"Message {self._message_id} is unknown: it was never sent, or its retention is over."
            )
        seconds_left = self._ends_at - time.monotonic()
        if seconds_left <= 0:
            raise NotSettled(
                f"Message {self._message_id} was not settled within {self._timeout:g} seconds: it is {outcome.status}.",
                outcome,
            )
        return min(self._backoff.pause(), seconds_left)


def _outcome(message_id: int, row: Row) -> Outcome:
    queue, status, outcome, receive_count, settled_at, result = row
    settled_at = settled_at and settled_at.astimezone(UTC)
    value = decode(result, "result") if result else None
    return Outcome(message_id, queue, status, outcome, receive_count, settled_at, value)


def _outcome_in(wire: Mapping[str, Any]) -> Outcome:
    return Outcome(
        message_id=number_in(wire["messageId"]),
        queue=wire["queue"],
        status=wire["state"],
        outcome=wire["outcome"],
        receive_count=wire["receiveCount"],
        settled_at=_time_of(wire["settledAt"]),
        result=wire["result"],
    )


def _requests(
    handles: Sequence[str],
    verb: str,
    members: Callable[[Mapping[int, str]], Mapping[str, str | None]],
    read: Callable[[Mapping[str, Any]], T],
    names: Mapping[str, str] = wire_names.NONE,
    *,
    ends_leases: bool = True,
) -> Requests[dict[str, T]]:
    """Settle the handles of each queue by one request; returns the result of each handle.

    A false result in a doubtful answer is uncertain if the request ends leases: the first attempt may have ended the
    lease.
    """
    answers: dict[str, T] = {}
    for queue, part in by_queue(handles):
        path = address("queues", queue, "messages", verb)
        answer = yield Request("POST", path, document(members(part)), names)
        results = map(read, answer.document["results"])
        results_by_handle = dict(zip([handles[index] for index in part], results, strict=True))
        if answer.doubtful and ends_leases and not all(results_by_handle.values()):
            raise OutcomeUnknown(answers=results_by_handle)
        answers |= results_by_handle
    return answers


def _failure(checked: Mapping[str, Any]) -> str:
    return document(
        {
            "receiptHandle": given(queue_and_handle(checked["receipt_handle"])[1]),
            "delaySeconds": given(checked["delay_seconds"]),
            "reason": given(checked["reason"]),
            "errorClass": given((checked["error_class"] or "")[:MAX_CLASS_CHARACTERS] or None),
            "error": given(checked["error"]),
            "details": given(checked["details"]),
            "state": checked["state"],
        }
    )


def _time_of(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def _encode_json(field: str, value: object, max_bytes: int = RESULT_BYTES) -> str | None:
    return None if value is None else encode_within(max_bytes, value, field)


once: Function[bool] = Function("once", "message_id bigint, handler text, window_seconds double precision", only_value)


def ack_returned(receipt_handle: str, receive_count: int) -> Call[bool]:
    """Ack a message after its lease, if it was not received again. Only the SQS endpoint asks for it."""
    return Call(_ACK_RETURNED, {"receipt_handle": receipt_handle, "receive_count": receive_count}, only_value)


_ACK_RETURNED = statement("ack_returned", "receipt_handle text, receive_count int")
