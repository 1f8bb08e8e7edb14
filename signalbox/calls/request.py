"""The HTTP requests of a verb, as a generator: it yields each request and receives the answer."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from signalbox.durations import Durations
from signalbox.errors import InvalidArgument

#: The longest wait of one request for messages, in seconds.
MAX_WAIT_SECONDS = 20.0
#: The most receipt handles in one request.
MAX_HANDLES = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server. `doubtful`: an earlier answer was lost, perhaps of a request that was carried out."""

    document: Any
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, and what the client may do when the answer is lost."""

    method: str
    path: str
    #: The body, as JSON text.
    content: str | None = None
    #: The Python argument of each field of the request, for errors.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The answers to return in place of problems, by the kind of the problem.
    instead: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the client may repeat a request that may have been carried out.
    repeatable: bool = True
    #: Whether an idempotency key makes the server carry out repeated requests once.
    keyed: bool = False
    #: Seconds that the server may wait before it answers.
    wait_seconds: float = 0.0
    #: Counts the seconds that the request takes.
    durations: Durations | None = None


#: A generator that yields requests, receives the answer to each, and returns the result of the verb.
Requests = Generator[Request, Answer, T]


def address(*parts: str) -> str:
    """A path of these parts, each quoted; a part that begins with a colon is joined to the part before."""
    path = "".join(part if part.startswith(":") else "/" + quote(part, safe="") for part in parts)
    return "/v1" + path


def document(members: Mapping[str, str | None]) -> str:
    """A JSON object of members that are JSON text already; those that are None are left out."""
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items() if text is not None) + "}"


def array(texts: Iterable[str]) -> str:
    """A JSON array of JSON texts."""
    return "[" + ",".join(texts) + "]"


def given(value: object) -> str | None:
    """Encode a value as JSON text; None stays None, which leaves the member out of a document."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def number_in(identifier: object) -> int:
    """Read the number of an id such as msg_123 or q_7."""
    return int(str(identifier).rpartition("_")[2])


def waits(wait_seconds: float) -> Iterator[float]:
    """Yield the seconds that each request may wait until the whole wait is over; there is at least one request."""
    seconds_left = wait_seconds
    ends_at = time.monotonic() + seconds_left
    while True:
        yield min(seconds_left, MAX_WAIT_SECONDS)
        seconds_left = ends_at - time.monotonic()
        if seconds_left <= 0:
            return


def with_queue(queue: str, handle: str) -> str:
    """Prefix a receipt handle with the name of its queue, which the addresses of later requests need.

    The database finds a lease by its handle alone. An HTTP address names the queue as well, since API keys are
    limited to queues. Names of queues have no slash.
    """
    return f"{queue}/{handle}"


def queue_and_handle(receipt_handle: str) -> tuple[str, str]:
    """Split the receipt handle of an HTTP client into the queue and the server's handle. Raises InvalidArgument."""
    queue, slash, handle = receipt_handle.partition("/")
    if not (queue and slash and handle):
        raise InvalidArgument(
            f"receipt_handle {receipt_handle[:120]!r} names no queue: use a handle that was received over HTTP",
            field="receipt_handle",
        )
    return queue, handle


def by_queue(receipt_handles: Sequence[str]) -> list[tuple[str, dict[int, str]]]:
    """Group handles by queue, at most MAX_HANDLES in a group, each under its index among all handles."""
    queues: dict[str, dict[int, str]] = {}
    for index, receipt_handle in enumerate(receipt_handles):
        queue, handle = queue_and_handle(receipt_handle)
        queues.setdefault(queue, {})[index] = handle
    return [(queue, part) for queue, handles in queues.items() for part in _parts(list(handles.items()))]


def _parts(handles: list[tuple[int, str]]) -> list[dict[int, str]]:
    return [dict(handles[first : first + MAX_HANDLES]) for first in range(0, len(handles), MAX_HANDLES)]


def every_page(path: str, members: Mapping[str, Any], noun: str) -> Requests[list[Any]]:
    """Request every page of a list and return the items of all; `noun` is the key of the list in an answer."""
    listed: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        asked = {name: value for name, value in {**members, "cursor": cursor}.items() if value != ""}
        answer: Answer = yield Request("GET", f"{path}?{urlencode(asked)}")
        listed += answer.document[noun]
        cursor = answer.document["nextCursor"]
    return listed
