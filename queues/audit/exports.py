"""Rows of the audit without a database: their hashes, and the files of pruned rows, read again.

The hash is the sum that `queues/sql/audit/_audit_hash.sql` makes. Files are checked: are they what was written, and do
they reach up to what is in the database?
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from queues.errors import InvalidArgument

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Fields(NamedTuple):
    """The fields of a row that its hash covers, as JSON: numbers and `details` as the database writes them."""

    position: int | None
    event_id: int
    microseconds: int | None
    actor: str
    action: str
    queue_id: int | None
    queue_name: str
    reason: str
    details: str
    database_role: str | None
    application_name: str | None


def hash_of(fields: Fields, before: bytes) -> bytes:
    """The hash of a row behind a row of hash `before`; the sum that `_audit_hash` makes."""
    parts = [_text(value) for value in fields[:8]] + [fields.details]
    if fields.database_role is not None:
        parts += [_text(fields.database_role), _text(fields.application_name)]
    return hashlib.sha256(before + f"[{', '.join(parts)}]".encode()).digest()


@dataclass
class Exports:
    """The contents of several export files: the hash of each row, and the first wrong one."""

    last: int = 0
    hashes: dict[int, str] = field(default_factory=dict)
    bad_position: int | None = None
    complaint: str = ""


def read(paths: Iterable[Path]) -> Exports:
    """Walk the chain of these files, in the order of their rows. Raises `InvalidArgument` for what is no such file."""
    found = Exports()
    before: str | None = None
    for position, previous, kept, computed in _hashed(sorted(_lines(paths))):
        if found.last and position != found.last + 1:
            complaint = "rows before it are missing"
        elif kept != computed:
            complaint = "it is not what was written"
        elif before is not None and previous != before:
            complaint = "it does not follow the row before it"
        else:
            found.hashes[position], found.last, before = kept, position, kept
            continue
        found.bad_position, found.complaint = position, complaint
        break
    return found


def _lines(paths: Iterable[Path]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(place, row as it was written) of each."""
    for path in paths:
        with path.open() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line, parse_int=Number, parse_float=Number)
                    yield int(row["position"]), row
                except (ValueError, KeyError, TypeError):
                    raise InvalidArgument(f"export {path}: line {number} is no row of the audit", "export") from None


def _hashed(rows: list[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, str, str, str]]:
    """(place, hash before, hash kept, hash computed) of each."""
    for position, row in rows:
        before, kept = (str(row.get(name) or "").removeprefix("\\x") for name in ("previous_hash", "hash"))
        try:
            computed = hash_of(_fields(position, row), bytes.fromhex(before)).hex()
        except (ValueError, KeyError, TypeError, AttributeError):
            computed = ""  # no row of the audit has such a value
        yield position, before, kept, computed


class Number(str):
    """A number as its text: read and written by others it might look otherwise."""

    __slots__ = ()


def _fields(position: int, row: dict[str, Any]) -> Fields:
    at = datetime.fromisoformat(row["at"]) - EPOCH
    return Fields(
        position,
        int(row["audit_event_id"]),
        at // timedelta(microseconds=1),
        row["actor"],
        row["action"],
        None if row["queue_id"] is None else int(row["queue_id"]),
        row["queue_name"],
        row["reason"],
        written(row["details"]),
        row.get("database_role"),
        row.get("application_name"),
    )


def written(value: Any) -> str:
    """A JSON document as the database writes it; keys are in the order in which it wrote them."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {written(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(written(one) for one in value)}]"
    return _text(value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
