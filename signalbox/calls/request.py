"""HTTP requests of a verb: each is yielded in turn, and its answer comes back to what yielded it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from signalbox.durations import Durations
from signalbox.errors import InvalidArgument

#: Handles in one request, at most.
MAX_HANDLES = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer; `doubtful` when an earlier attempt may have been carried out and its answer was lost."""

    document: Any
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One request, and what may be done when there is no answer to it."""

    method: str
    path: str
    #: The body, as JSON text.
    content: str | None = None
    #: Python's arguments by their names on the wire, for refusals.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Documents to take in place of problems, by the last word of the problem's type.
    instead: Mapping[str, Any] = field(default_factory=dict)
    #: May it be asked again when it may have been carried out?
    repeatable: bool = True
    #: Is it carried out once, however often it is asked, when it has a key?
    keyed: bool = False
    #: Seconds that the server may wait before it answers.
    wait_seconds: float = 0.0
    #: Counts the seconds that the request takes.
    durations: Durations | None = None


#: Yields requests, receives the answer to each, and returns what the verb returns.
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
    """A value as JSON text; None stays None, which leaves it out of a document."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def number_in(identifier: object) -> int:
    """The number of an id such as msg_123 or q_7."""
    return int(str(identifier).rpartition("_")[2])


def with_queue(queue: str, handle: str) -> str:
    """The handle as an HTTP client hands it out: after the name of its queue, which its address needs.

    The database finds a lease by its handle alone. An address over HTTP names the queue too, since API keys are for
    queues. Names of queues have no slash.
    """
    return f"{queue}/{handle}"


def queue_and_handle(receipt_handle: str) -> tuple[str, str]:
    """The queue and the handle as the server knows it. Raises InvalidArgument."""
    queue, slash, handle = receipt_handle.partition("/")
    if not (queue and slash and handle):
        raise InvalidArgument(
            f"receipt_handle {receipt_handle[:120]!r} was not given out over HTTP: it names no queue",
            field="receipt_handle",
        )
    return queue, handle


def by_queue(receipt_handles: Sequence[str]) -> list[tuple[str, dict[int, str]]]:
    """The server's handles for each queue, by their index among those given; at most MAX_HANDLES together."""
    queues: dict[str, dict[int, str]] = {}
    for index, receipt_handle in enumerate(receipt_handles):
        queue, handle = queue_and_handle(receipt_handle)
        queues.setdefault(queue, {})[index] = handle
    return [(queue, part) for queue, handles in queues.items() for part in _parts(list(handles.items()))]


def _parts(handles: list[tuple[int, str]]) -> list[dict[int, str]]:
    return [dict(handles[first : first + MAX_HANDLES]) for first in range(0, len(handles), MAX_HANDLES)]
