"""The operations on queues, each over a service that runs in a thread."""

from __future__ import annotations

from typing import Any

from console.api.core.database import in_thread
from console.api.queues.known_queues import KnownQueue, queue_of_its_own, reached_queue
from console.api.sqs.accounts import account_of
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, invalid_parameter, invalid_value, missing, no_such_queue
from console.api.sqs.queues import configuring, facts, removing
from console.api.sqs.queues.facts import queue_of

MAX_PAGE = 1_000


async def create_queue(call: Call) -> dict[str, Any]:
    """Create a queue, or return the URL of one with equal attributes."""
    given = call.given
    url = await in_thread(
        configuring.create, call, given["QueueName"], given.get("Attributes", {}), given.get("tags", {})
    )
    return {"QueueUrl": url}


async def delete_queue(call: Call) -> None:
    """Delete a queue and its messages."""
    known = await queue_of_its_own(call.key, (await queue_of(call)).name)
    await in_thread(removing.delete, call, known)
    facts.forget(known.name, known.queue_id)


async def get_queue_url(call: Call) -> dict[str, Any]:
    """Return the URL of a queue."""
    name, owner = call.given["QueueName"], call.given.get("QueueOwnerAWSAccountId")
    known = await reached_queue(call.key, name)
    if owner is not None and owner != account_of(known.tenant):
        raise no_such_queue()
    return {"QueueUrl": call.url_of(known.name, known.tenant)}


async def list_queues(call: Call) -> dict[str, Any]:
    """List URLs of queues by name."""
    limit, token = _page(call)
    prefix = call.given.get("QueueNamePrefix", "")
    if "\x00" in prefix:
        return {}
    urls, after = await in_thread(configuring.page, call.key, call, prefix, limit, token)
    return {**({"QueueUrls": urls} if urls else {}), **_next(after)}


async def get_queue_attributes(call: Call) -> dict[str, Any]:
    """Return attributes of a queue."""
    known = await queue_of(call)
    values = await in_thread(configuring.attributes_of, call, known, call.given.get("AttributeNames", []))
    return {"Attributes": values} if values else {}


async def set_queue_attributes(call: Call) -> None:
    """Change attributes of a queue."""
    known = await _own_queue(call)
    await in_thread(configuring.configure, call, known, call.given["Attributes"])
    facts.forget(known.name, known.queue_id)


async def purge_queue(call: Call) -> None:
    """Purge the messages that a queue has now."""
    await in_thread(removing.purge, call, await queue_of(call))


async def list_dead_letter_source_queues(call: Call) -> dict[str, Any]:
    """List the queues whose RedrivePolicy names this queue."""
    known, (limit, token) = await queue_of(call), _page(call)
    urls, after = await in_thread(configuring.sources, call.key, call, known, limit, token)
    return {"queueUrls": urls, **_next(after)}


async def list_queue_tags(call: Call) -> dict[str, Any]:
    """Return the tags of a queue."""
    tags = await in_thread(configuring.tags_of, await queue_of(call))
    return {"Tags": tags} if tags else {}


async def tag_queue(call: Call) -> None:
    """Add tags to a queue."""
    tags = call.given["Tags"]
    if not tags:
        raise missing("Tags")
    await in_thread(configuring.tag, await _own_queue(call), tags, [])


async def untag_queue(call: Call) -> None:
    """Remove tags from a queue."""
    keys = call.given["TagKeys"]
    if not keys:
        raise invalid_parameter("Tag keys must be between 1 and 128 characters in length.")
    await in_thread(configuring.tag, await _own_queue(call), {}, keys)


async def refuse_permission(call: Call) -> None:
    """Refuse AddPermission and RemovePermission: API keys say who may do what."""
    await queue_of(call)
    raise SqsError(
        "UnsupportedOperation",
        f"{call.operation} is not supported: scopes, tenant and prefix of an API key say what it may do. "
        "manage.py apikey create --sqs makes one.",
    )


async def _own_queue(call: Call) -> KnownQueue:
    return await queue_of_its_own(call.key, (await queue_of(call)).name)


def _page(call: Call) -> tuple[int | None, str | None]:
    limit = call.given.get("MaxResults")
    if limit is not None and not 1 <= limit <= MAX_PAGE:
        raise invalid_value("MaxResults", limit, f"MaxResults must be an integer between 1 and {MAX_PAGE}.")
    return limit, call.given.get("NextToken")


def _next(token: str | None) -> dict[str, str]:
    return {"NextToken": token} if token else {}
