"""Files of pruned rows, read again: are they what was written, and do they reach up to what is in the database?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from queues.audit_hashes import Fields, hash_of
from queues.errors import InvalidArgument

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Exports:
    """What some files have between them: the hash of each row, and the first that is wrong."""

    first: int = 0
    last: int = 0
    hashes: dict[int, str] = field(default_factory=dict)
    bad_position: int | None = None
    complaint: str = ""


def read(paths: Iterable[Path]) -> Exports:
    """Walk the chain of these files, in the order of their rows. Raises `InvalidArgument` for what is no such file."""
    found = Exports()
    before: str | None = None
    for position, previous, kept, computed in _hashed(sorted(_lines(paths))):
        found.first = found.first or position
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
