"""Hashes of audit rows, and the files to which pruned rows were exported.

The hash is the one that `queues/sql/audit/_audit_hash.sql` computes. Each row of a file is checked with its hash, and
the last one with the row at which the database begins.
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
    """Compute the hash of a row that follows a row with the hash `before`, as `_audit_hash` does."""
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
    """Walk the chain of these files, in the order of their rows. Raises `InvalidArgument` for other files."""
    exports = Exports()
    before: str | None = None
    for position, previous, kept, computed in _hashed(sorted(_lines(paths))):
        if exports.last and position != exports.last + 1:
            complaint = "rows before it are missing"
        elif kept != computed:
            complaint = "it is not what was written"
        elif before is not None and previous != before:
            complaint = "it does not follow the row before it"
        else:
            exports.hashes[position], exports.last, before = kept, position, kept
            continue
        exports.bad_position, exports.complaint = position, complaint
        break
    return exports


def _lines(paths: Iterable[Path]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read (position, row as it was written) of each line."""
    for path in paths:
        with path.open() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line, parse_int=Number, parse_float=Number)
                    yield int(row["position"]), row
                except (ValueError, KeyError, TypeError):
                    raise InvalidArgument(f"export {path}: line {number} is no row of the audit", "export") from None


def _hashed(rows: list[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, str, str, str]]:
    """Compute (position, previous hash, stored hash, computed hash) of each row."""
    for position, row in rows:
        before, kept = (str(row.get(name) or "").removeprefix("\\x") for name in ("previous_hash", "hash"))
        try:
            computed = hash_of(_fields(position, row), bytes.fromhex(before)).hex()
        except (ValueError, KeyError, TypeError, AttributeError):
            computed = ""  # the audit has no such value
        yield position, before, kept, computed


class Number(str):
    """A JSON number as its text, since Python might write the number differently."""

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
    """Write a JSON value as the database does, with the keys in their stored order."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {written(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return _text(value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
