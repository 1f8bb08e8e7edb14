"""Files of pruned rows, read again: are they what was written, and do they reach up to what is in the database?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

from queues.errors import InvalidArgument

AT_ONCE = 1_000


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


def _lines(paths: Iterable[Path]) -> Iterator[tuple[int, str]]:
    """(place, row as it was written) of each."""
    for path in paths:
        with path.open() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield int(json.loads(line)["position"]), line
                except (ValueError, KeyError, TypeError):
                    raise InvalidArgument(f"export {path}: line {number} is no row of the audit", "export") from None


def _hashed(rows: list[tuple[int, str]]) -> Iterator[tuple[int, str, str, str]]:
    """(place, hash before, hash kept, hash computed by the database) of each.

    The text goes there as it is: read and written by others a number might look otherwise.
    """
    for start in range(0, len(rows), AT_ONCE):
        with connection.cursor() as cursor:
            cursor.execute(_HASHES, [f"[{','.join(line for _, line in rows[start : start + AT_ONCE])}]"])
            yield from cursor.fetchall()


_HASHES = """
select e.position, encode(e.previous_hash, 'hex'), encode(e.hash, 'hex'),
  encode(signalbox._audit_hash(e, e.position, e.previous_hash), 'hex')
from jsonb_populate_recordset(null::signalbox.audit_event, %s::jsonb) e
order by e.position
"""
