"""The oldest rows of the audit go to files, and then from the database; what is left is as provable as before.

A file is whole and on the disk before its rows go, and both are decided in one transaction: killed anywhere, a row is
in the database or in a file that an anchor names, or in both. A file's name has the place of its first and last row and
the beginning of the last one's hash, so that a database that was restored does not write over what it does not know.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import psycopg

BATCH_ROWS = 10_000
"""In one file and one transaction."""


@dataclass(frozen=True)
class Batch:
    """The oldest rows that may go: places from `first` to `last`, and the hash of the last."""

    first: int
    last: int
    hash: bytes
    through: datetime
    lines: list[str]

    @property
    def file_name(self) -> str:
        return f"audit-{self.first:012d}-{self.last:012d}-{self.hash.hex()[:8]}.jsonl"


def _due(connection: psycopg.Connection[Any], before: datetime) -> Batch | None:
    """The next rows older than `before`, a batch at most; None when there are none. The last row of all stays."""
    rows = connection.execute(_OLDEST, {"before": before, "limit": BATCH_ROWS}).fetchall()
    old = list(takewhile(itemgetter(2), rows))  # what came into the chain after a younger one stays with it
    if not old:
        return None
    position, digest, _, at, _ = old[-1]
    return Batch(old[0][0], position, bytes(digest), at, [row[4] for row in old])


def count_due(connection: psycopg.Connection[Any], before: datetime) -> int:
    """Count the rows that are older, all batches together. Walks the old ones once."""
    row = connection.execute(_COUNT, {"before": before}).fetchone()
    return int(row[0]) if row else 0


def prune(
    connection: psycopg.Connection[Any], before: datetime, folder: Path, *, actor: str, batches: int = 1_000
) -> Iterator[tuple[Path, Batch]]:
    """Export and remove what is older than `before`, batch after batch. The connection is in autocommit."""
    for _ in range(batches):
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(hashtext('signalbox.prune_audit'), 0)")
            found = _due(connection, before)
            if found is None:
                return
            content = "".join(f"{line}\n" for line in found.lines).encode()
            path = _write(folder, found.file_name, content)
            sha256 = hashlib.sha256(content).digest()
            connection.execute(_PRUNE, [found.last, found.hash, found.file_name, sha256, actor])
        yield path, found


def _write(folder: Path, name: str, content: bytes) -> Path:
    """The whole file is on the disk, under its name, when this returns; a rest of a killed attempt is written over."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    draft = folder / f"{name}.{os.getpid()}.part"
    with draft.open("wb") as file:
        draft.chmod(0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return path


_OLDEST = """
select e.position, e.hash, e.at < %(before)s, e.at, to_jsonb(e)::text
from signalbox.audit_event e
where e.position < (select h.position from signalbox.audit_head h)
order by e.position
limit %(limit)s
"""
_COUNT = """
select count(*)
from signalbox.audit_event e
where e.position < least(
  (select h.position from signalbox.audit_head h),
  coalesce((select min(y.position) from signalbox.audit_event y where y.at >= %(before)s), 9223372036854775807)
)
"""
_PRUNE = "select signalbox.prune_audit(%s, %s, %s, %s, %s)"
