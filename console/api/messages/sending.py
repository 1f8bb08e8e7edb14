"""Conversion of sent messages from the API's names to the engine's, and of the results back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from console.api.core.names import wire_field
from console.api.core.problems import Problem, problem_of
from console.api.core.responses import message_name
from console.api.core.shape import invalid
from console.api.messages.shapes import NewBatchMessage, NewMessageMembers
from signalbox import AsyncClient, InvalidArgument
from signalbox.calls.sending import BatchOptions, SendOptions
from signalbox.payloads import binary


def options(message: NewMessageMembers) -> SendOptions:
    """Return the options of a message, without its payload."""
    attributes = message.attributes
    return {
        "attributes": with_content_type(attributes.model_extra if attributes else None, message.content_type),
        "priority": (attributes.priority or 0) if attributes else 0,
        "delay_seconds": message.delay_seconds,
        "group_id": message.message_group_id,
        "deduplication_id": message.deduplication_key,
        "trace_id": message.trace_id,
        "correlation_id": message.correlation_id,
        "expires_at": message.expires_at,
        "max_receives": message.max_receive_count,
    }


def with_content_type(attributes: Mapping[str, Any] | None, content_type: str | None) -> Mapping[str, Any] | None:
    """Declare a binary body, which the engine checks, among the attributes of its message."""
    declared = {} if content_type is None else {binary.CONTENT_TYPE: content_type}
    return {**(attributes or {}), **declared} or None


def sent(message_id: int) -> dict[str, Any]:
    """Return the document of a sent message."""
    return {"messageId": message_name(message_id), "sequence": message_id}


async def send_each(client: AsyncClient, queue: str, given: list[Any]) -> list[dict[str, Any]]:
    """Send the valid messages in one transaction; return one result for each message, in order."""
    read = [read_message(place, one) for place, one in enumerate(given)]
    messages = [one for one in read if isinstance(one, NewBatchMessage)]
    answers = iter(await client.send_each(queue, [(one.body, options(one)) for one in messages]))
    results = [one if isinstance(one, Problem) else next(answers) for one in read]
    return [_result(place, given[place], one) for place, one in enumerate(results)]


def read_message(place: int, given: Any) -> NewBatchMessage | Problem:
    """Return one message of a batch, or its problem."""
    try:
        return NewBatchMessage.model_validate(given)
    except ValidationError as error:
        return invalid(error.errors(), within=f"messages[{place}]")


def _result(place: int, given: Any, answer: int | Exception) -> dict[str, Any]:
    name = given.get("clientMessageId") if isinstance(given, dict) else None
    named = {"clientMessageId": name if isinstance(name, str) else None}
    if isinstance(answer, int):
        return {**named, "status": "accepted", **sent(answer)}
    problem = problem_of(answer)
    if not isinstance(answer, Problem):
        problem = problem.within(f"messages[{place}].")
    return {**named, "status": "rejected", "error": problem.document()}


_OF_ONE = re.compile(r"([a-z_]+)\[(\d+)\](.*)", re.DOTALL)


async def send_all(client: AsyncClient, queue: str, given: list[Any]) -> list[dict[str, Any]]:
    """Send all messages in one statement; return ordered results. Raises the problem of the first invalid message."""
    messages = [_message(place, one) for place, one in enumerate(given)]
    try:
        ids = await client.send_batch(queue, [one.body for one in messages], **_columns(messages))
    except InvalidArgument as error:
        raise in_its_place(error) from error
    return [
        {"clientMessageId": message.client_message_id, "status": "accepted", **sent(message_id)}
        for message, message_id in zip(messages, ids, strict=True)
    ]


def _message(place: int, given: Any) -> NewBatchMessage:
    message = read_message(place, given)
    if isinstance(message, Problem):
        raise message
    return message


def _columns(messages: list[NewBatchMessage]) -> BatchOptions:
    said = [options(one) for one in messages]
    return {
        "attributes": [one["attributes"] for one in said],
        "priorities": [one["priority"] for one in said],
        "delay_seconds": [one["delay_seconds"] for one in said],
        "group_ids": [one["group_id"] for one in said],
        "deduplication_ids": [one["deduplication_id"] for one in said],
        "trace_ids": [one["trace_id"] for one in said],
        "correlation_ids": [one["correlation_id"] for one in said],
        "expires_ats": _column(said, "expires_at"),
        "max_receives": _column(said, "max_receives"),
    }


def _column(said: list[SendOptions], name: str) -> list[Any] | None:
    """Return the values of one option, a value for each message; None if no message has the option."""
    values = [cast("Mapping[str, Any]", one)[name] for one in said]
    return values if any(value is not None for value in values) else None


def in_its_place(error: InvalidArgument) -> Problem:
    """Convert an error about an array's entry into an error about the message's field."""
    if not (found := _OF_ONE.fullmatch(error.field or "")):
        return problem_of(error)
    field = f"messages[{found[2]}].{wire_field(found[1])}"
    return Problem.of_field(field, field + str(error).removeprefix(error.field or ""))
