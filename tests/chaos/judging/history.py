"""History of a run: every operation of the clients and its answer, recorded while faults run.

One file for each process. A line is appended when an operation is invoked and one when it is completed, by single
writes that survive a kill. An operation without a completion has an unknown outcome: its client died before it knew.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"


@dataclass(slots=True)
class Operation:
    """Times are seconds of the machine's clock, which the server reads as well."""

    client: str
    kind: str
    invoked: float
    arguments: dict[str, Any]
    outcome: str = UNKNOWN
    completed: float | None = None
    answer: dict[str, Any] = field(default_factory=dict)


class Journal:
    """History file of one process."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._numbers = itertools.count(1)

    def invoke(self, kind: str, **arguments: Any) -> int:
        """Note that an operation begins; its number."""
        number = next(self._numbers)
        self._write({"op": kind, "i": number, "at": time.time(), **arguments})
        return number

    def complete(self, number: int, outcome: str, **answer: Any) -> None:
        self._write({"i": number, "at": time.time(), "is": outcome, **answer})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._descriptor, json.dumps(line, separators=(",", ":")).encode() + b"\n")


def read(folder: Path) -> Iterator[Operation]:
    """Every operation of every client, each client's in order of invocation."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from _read_file(path)


def _read_file(path: Path) -> Iterator[Operation]:
    operations: dict[int, Operation] = {}
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # cut off by a kill: what it would have said is unknown
            continue
        number, at = entry.pop("i"), entry.pop("at")
        if "op" in entry:
            operations[number] = Operation(path.stem, entry.pop("op"), at, entry)
        elif number in operations:
            operation = operations[number]
            operation.outcome, operation.completed, operation.answer = entry.pop("is"), at, entry
    yield from operations.values()
