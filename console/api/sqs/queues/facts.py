"""Facts of a queue that calls need, cached for a second in each process.

The name in the URL finds the queue (`known_queues`); this adds its mode and the attributes that only SQS knows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from console.api.core import database
from console.api.core.single_flight import SingleFlight
from console.api.queues import known_queues
from console.api.queues.known_queues import KnownQueue, reached_queue
from console.api.sqs.accounts import account_of, is_name, queue_in
from console.api.sqs.call import Call
from console.api.sqs.errors import no_such_queue
from console.api.sqs.queues.attributes import limit_of, needs_fifo_rules
from console.api.sqs.queues.models import SqsQueue
from queues.models import Queue

REMEMBER_SECONDS = 1.0
MAX_REMEMBERED = 10_000


@dataclass(frozen=True)
class SqsFacts:
    """A queue as SQS's messages see it."""

    known: KnownQueue
    is_fifo: bool
    attributes: dict[str, Any]
    """The attributes that the row of `SqsQueue` stores."""
    max_bytes: int
    wait_seconds: float
    visibility_seconds: float
    max_receives: int
    known_until: float

    @property
    def name(self) -> str:
        """Return the name of the queue."""
        return self.known.name

    def has(self, attribute: str) -> bool:
        """Return whether the attribute has the value true."""
        return self.attributes.get(attribute) == "true"


async def queue_of(call: Call) -> KnownQueue:
    """Return the queue of the parameter QueueUrl. Raises `QueueDoesNotExist`, also if the key does not reach it."""
    account, name = _address(call.given["QueueUrl"])
    queue = await reached_queue(call.key, name)
    if account not in (None, account_of(queue.tenant)):
        raise no_such_queue()
    return queue


def _address(url: str) -> tuple[str | None, str]:
    """Return the account and the name in a QueueUrl. SQS also accepts a plain name; then the account is None."""
    if is_name(url):
        return None, url
    found = queue_in(url)
    if found is None:
        raise no_such_queue()
    return found


async def facts_of(known: KnownQueue) -> SqsFacts:
    """Return the facts of a queue."""
    facts = _facts.get(known.queue_id)
    if facts is None or facts.known_until < time.monotonic() or facts.known.name != known.name:
        facts = await _lookups.ask(known)
    return facts


def forget(known_name: str, queue_id: int) -> None:
    """Drop the cached facts of a queue that changed."""
    known_queues.forget(known_name)
    _facts.pop(queue_id, None)


async def _look_up(known: KnownQueue) -> SqsFacts:
    known_until = time.monotonic() + REMEMBER_SECONDS
    facts = await database.in_thread(_read, known, known_until)
    if len(_facts) >= MAX_REMEMBERED:
        _facts.clear()
    _facts[known.queue_id] = facts
    return facts


def _read(known: KnownQueue, known_until: float) -> SqsFacts:
    queue = Queue.objects.filter(queue_id=known.queue_id).first()
    if queue is None:
        raise no_such_queue()
    row = SqsQueue.objects.filter(queue_id=known.queue_id).first()
    attributes = row.attributes if row else {}
    return SqsFacts(
        known=known,
        is_fifo=needs_fifo_rules(queue),
        attributes=attributes,
        max_bytes=limit_of(queue),
        wait_seconds=queue.receive_wait_seconds,
        visibility_seconds=queue.visibility_timeout_seconds,
        max_receives=queue.max_receives,
        known_until=known_until,
    )


_facts: dict[int, SqsFacts] = {}
_lookups = SingleFlight(_look_up)
