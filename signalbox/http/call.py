"""One HTTP request of a verb with the reading of its answer, and what may be done when there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from signalbox.durations import Durations

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said; `doubtful` when an earlier attempt may have been carried out and its answer was lost."""

    document: Any
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request; `read` turns its answer into what the verb returns."""

    method: str
    path: str
    read: Callable[[Answer], T]
    #: The body, as JSON text.
    content: str | None = None
    #: Python's arguments by their names on the wire, for refusals.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Problems that are answers, by the last word of their type.
    instead: Mapping[str, T] = field(default_factory=dict)
    #: May it be asked again when it may have been carried out?
    repeatable: bool = True
    #: Is it carried out once, however often it is asked, when it has a key?
    keyed: bool = False
    #: How long the server may take to answer beyond what it takes anyway.
    wait_seconds: float = 0.0
    #: Where the time it takes is counted.
    durations: Durations | None = None


def address(*parts: str) -> str:
    """A path of these parts, each quoted; what begins with a colon is joined to the part before."""
    path = "".join(part if part.startswith(":") else "/" + quote(part, safe="") for part in parts)
    return "/v1" + path


def document(members: Mapping[str, str | None]) -> str:
    """A JSON object of members that are JSON text already; those that are None are left out."""
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items() if text is not None) + "}"


def array(texts: list[str]) -> str:
    """A JSON array of JSON texts."""
    return "[" + ",".join(texts) + "]"


def given(value: object) -> str | None:
    """A value that JSON has as JSON text; None stays None, which leaves it out."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def number_in(identifier: object) -> int:
    """The number of an id such as msg_123 or q_7."""
    return int(str(identifier).rpartition("_")[2])
