"""From messages as they are sent over the wire to the words of the engine, and back to what is answered."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from console.api.answers import message_name
from console.api.faults import invalid
from console.api.problems import Problem, problem_of
from console.api.wire.messages import NewBatchMessage, NewMessage
from signalbox import AsyncClient
from signalbox.statements import SendOptions


def options(message: NewMessage) -> SendOptions:
    """What is said of the message besides its payload."""
    attributes = message.attributes
    return {
        "attributes": (attributes.model_extra or None) if attributes else None,
        "priority": (attributes.priority or 0) if attributes else 0,
        "delay_seconds": message.delay_seconds,
        "group_id": message.message_group_id,
        "deduplication_id": message.deduplication_key,
        "trace_id": message.trace_id,
        "correlation_id": message.correlation_id,
    }


def sent(message_id: int) -> dict[str, Any]:
    """What the sender of a message is told."""
    return {"messageId": message_name(message_id), "sequence": message_id}


async def send_each(client: AsyncClient, queue: str, given: list[Any]) -> list[dict[str, Any]]:
    """Send what can be sent of these, in one transaction; a result for each, in their order."""
    read = [read_message(place, one) for place, one in enumerate(given)]
    messages = [one for one in read if isinstance(one, NewBatchMessage)]
    answers = iter(await client.send_each(queue, [(one.body, options(one)) for one in messages]))
    results = [one if isinstance(one, Problem) else next(answers) for one in read]
    return [_result(place, given[place], one) for place, one in enumerate(results)]


def read_message(place: int, given: Any) -> NewBatchMessage | Problem:
    """One message of a batch, or what is wrong with it."""
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
