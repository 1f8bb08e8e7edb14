"""What a consumer says of its deliveries over HTTP, and what became of a message.

One is asked for as a batch of one: its answer says of every lease whether it was still held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from signalbox import statements
from signalbox.http import names
from signalbox.http.call import Answer, Call, address, array, document, given, number_in
from signalbox.http.handles import apart, by_queue, with_queue
from signalbox.messages import Message, NackOutcome, Outcome
from signalbox.server_errors import OutcomeUnknown
from signalbox.statements import NackOptions

#: What is kept of the class of an error; the database cuts off what is more, the wire refuses it.
MAX_CLASS_CHARACTERS = 200

T = TypeVar("T")


def ack(receipts: Iterable[Message | str], results: Sequence[object] | None = None) -> list[Call[dict[str, bool]]]:
    """For each queue: of each receipt handle, is the message done with?"""
    checked = statements.ack(receipts, results).parameters
    return [
        _ack(queue, places, checked["handles"], checked.get("results"))
        for queue, places in by_queue(checked["handles"])
    ]


def _ack(
    queue: str, places: Mapping[int, str], handles: Sequence[str], results: Sequence[str | None] | None
) -> Call[dict[str, bool]]:
    kept = None if results is None else array([results[place] or "null" for place in places])

    def read(answer: Answer) -> dict[str, bool]:
        return _certain(acked([handles[place] for place in places], answer.document["results"]), answer.doubtful)

    return Call(
        "POST",
        address("queues", queue, "messages", ":ack"),
        read,
        document({"receiptHandles": given(list(places.values())), "results": kept}),
    )


def acked(handles: Sequence[str], results: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    """Of each handle, was its lease still held? The results are in the order of the handles."""
    return {handle: result["status"] == "acked" for handle, result in zip(handles, results, strict=True)}


def nack(nacks: Iterable[tuple[Message | str, NackOptions]]) -> list[Call[dict[str, NackOutcome | None]]]:
    """For each queue: what becomes of each message by its receipt handle, or None when its lease was no longer held."""
    failures = [statements.nack(receipt, options).parameters for receipt, options in nacks]
    handles = [failure["receipt_handle"] for failure in failures]
    return [
        _nack(queue, [handles[place] for place in places], [failures[place] for place in places])
        for queue, places in by_queue(handles)
    ]


def _nack(
    queue: str, handles: Sequence[str], failures: Sequence[Mapping[str, Any]]
) -> Call[dict[str, NackOutcome | None]]:
    def read(answer: Answer) -> dict[str, NackOutcome | None]:
        fates = [_FATES[result["status"]] for result in answer.document["results"]]
        return _certain(dict(zip(handles, fates, strict=True)), answer.doubtful)

    return Call(
        "POST",
        address("queues", queue, "messages", ":nack"),
        read,
        document({"messages": array([_failure(failure) for failure in failures])}),
    )


_FATES: Mapping[str, NackOutcome | None] = {"retry": "retry", "dead": "dead", "lost": None}


def _failure(checked: Mapping[str, Any]) -> str:
    return document(
        {
            "receiptHandle": given(apart(checked["receipt_handle"])[1]),
            "delaySeconds": given(checked["delay_seconds"]),
            "reason": given(checked["reason"]),
            "errorClass": given((checked["error_class"] or "")[:MAX_CLASS_CHARACTERS] or None),
            "error": given(checked["error"]),
            "details": given(checked["details"]),
            "state": checked["state"],
        }
    )


def change_visibility(receipts: Iterable[Message | str], seconds: float) -> list[Call[dict[str, datetime | None]]]:
    """For each queue: of each receipt handle, when its lease now ends, or None if it was no longer held."""
    checked = statements.change_visibility(receipts, seconds).parameters
    return [
        _change_visibility(queue, list(places.values()), checked["seconds"])
        for queue, places in by_queue(checked["handles"])
    ]


def _change_visibility(queue: str, handles: Sequence[str], seconds: float) -> Call[dict[str, datetime | None]]:
    def read(answer: Answer) -> dict[str, datetime | None]:
        deadlines = {
            with_queue(queue, handle): _moment(result.get("deadline"))
            for handle, result in zip(handles, answer.document["results"], strict=True)
        }
        return _certain(deadlines, answer.doubtful and not seconds)  # only giving back ends a lease

    return Call(
        "POST",
        address("queues", queue, "messages", ":change-visibility"),
        read,
        document({"receiptHandles": given(handles), "visibilityTimeoutSeconds": given(seconds)}),
        names.VISIBILITY,
    )


def message_outcome(message_id: int) -> Call[Outcome | None]:
    """Where the message stands, or None when nothing is known of it."""
    number = statements.message_outcome(message_id).parameters["message_id"]
    return Call(
        "GET",
        address("messages", f"msg_{number}"),
        lambda answer: _outcome(answer.document),
        instead={"message-not-found": None},
    )


def _outcome(wire: Mapping[str, Any]) -> Outcome:
    return Outcome(
        message_id=number_in(wire["messageId"]),
        queue=wire["queue"],
        status=wire["state"],
        outcome=wire["outcome"],
        receive_count=wire["receiveCount"],
        settled_at=_moment(wire["settledAt"]),
        result=wire["result"],
    )


def _certain(answers: dict[str, T], doubtful: bool) -> dict[str, T]:
    """The answers, unless a lease that is no longer held may have been ended by a first attempt of the same call."""
    if doubtful and not all(answers.values()):
        raise OutcomeUnknown(answers=answers)
    return answers


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
