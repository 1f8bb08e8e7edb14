"""Export the oldest rows of the audit to files and delete them from the database; the chain stays verifiable.

A file is complete and on disk before the transaction that deletes its rows commits: when the process is killed, each
row is in the database, in a file that an anchor names, or in both. A file's name has the positions of its first and
last row and the beginning of the last hash, so that a restored database does not overwrite files of a later time.
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

from queues.database.query import query_text

BATCH_ROWS = 10_000
"""Limit of rows in one file and one transaction."""


@dataclass(frozen=True)
class Batch:
    """The oldest rows that are pruned together: positions `first` to `last`, and the hash of the last."""

    first: int
    last: int
    hash: bytes
    through: datetime
    lines: list[str]

    @property
    def file_name(self) -> str:
        return f"audit-{self.first:012d}-{self.last:012d}-{self.hash.hex()[:8]}.jsonl"


def _due(connection: psycopg.Connection[Any], before: datetime) -> Batch | None:
    """Read the next rows older than `before`, at most a batch; None when there are none. The last row of all stays."""
    rows = connection.execute(_OLDEST, {"before": before, "limit": BATCH_ROWS}).fetchall()
    old = list(takewhile(itemgetter(2), rows))  # a row behind a younger one in the chain stays with it
    if not old:
        return None
    position, digest, _, at, _ = old[-1]
    return Batch(old[0][0], position, bytes(digest), at, [row[4] for row in old])


def count_due(connection: psycopg.Connection[Any], before: datetime) -> int:
    """Count the rows that are older than `before`."""
    row = connection.execute(_COUNT, {"before": before}).fetchone()
    return int(row[0]) if row else 0


def prune(
    connection: psycopg.Connection[Any], before: datetime, folder: Path, *, actor: str, batches: int = 1_000
) -> Iterator[tuple[Path, Batch]]:
    """Export and delete rows older than `before`, batch after batch. The connection is in autocommit."""
    for _ in range(batches):
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(hashtext('signalbox.prune_audit'), 0)")
            batch = _due(connection, before)
            if batch is None:
                return
            content = "".join(f"{line}\n" for line in batch.lines).encode()
            path = _write(folder, batch.file_name, content)
            sha256 = hashlib.sha256(content).digest()
            connection.execute(_PRUNE, [batch.last, batch.hash, batch.file_name, sha256, actor])
        yield path, batch


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a file completely to disk, under its name; remains of a killed attempt are overwritten."""
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


_OLDEST = query_text("audit/oldest")
_COUNT = query_text("audit/count_older")
_PRUNE = "select signalbox.prune_audit(%s, %s, %s, %s, %s)"
