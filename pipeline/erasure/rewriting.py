"""Look into one Parquet file, and rewrite it without what some rows carried: a row group at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.archive.extracting import writer_options
from pipeline.archive.files import Store
from pipeline.archive.schemas import KINDS

MARKED = ("payload", "error", "result")
"""Texts in whose place the marker stands, where there was any."""
EMPTIED = ("attributes", "details", "body_sha256", "body_bytes")


@dataclass(frozen=True)
class Sought:
    """The target of the search. `holds` is asked of documents that contain a needle; ids and hashes are known."""

    part: str
    needles: tuple[str, ...]
    holds: Callable[[str], bool | None]
    """None: it cannot be read."""
    message_ids: pa.Array
    body_hashes: pa.Array
    queue_ids: pa.Array | None
    since: Any
    until: Any


@dataclass
class Found:
    """The findings in one file: which rows of which row group, and their messages."""

    looked: int = 0
    unreadable: int = 0
    rows: list[list[int]] = field(default_factory=list)
    message_ids: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        return sum(len(rows) for rows in self.rows)


def search(store: Store, path: str, sought: Sought) -> Found:
    """Read what is needed of each row group, and no more."""
    found = Found()
    with store.system.open_input_file(store.whole(path)) as stream:
        file = pq.ParquetFile(stream)
        needed = ("message_id", "queue_id", "sent_at", "body_sha256", sought.part)
        columns = [name for name in needed if name in file.schema_arrow.names]
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=columns)
            found.looked += table.num_rows
            found.rows.append(list(_rows(table, sought, found)))
    return found


def rewrite(store: Store, kind: str, old: str, new: str, found: Found, marker: str) -> int:
    """Write the same rows in the same order under another name; return how many."""
    written = 0
    with store.system.open_input_file(store.whole(old)) as stream, store.writing(new) as target:
        file = pq.ParquetFile(stream)
        with pq.ParquetWriter(target, file.schema_arrow, **writer_options(KINDS[kind])) as writer:
            for group in range(file.num_row_groups):
                table = _erased(file.read_row_group(group), found.rows[group], marker)
                writer.write_table(table, row_group_size=max(1, table.num_rows))
                written += table.num_rows
    return written


def _rows(table: pa.Table, sought: Sought, found: Found) -> Iterator[int]:
    chosen = pc.is_in(table["message_id"], value_set=sought.message_ids)
    if "body_sha256" in table.column_names:
        chosen = pc.or_(chosen, pc.is_in(table["body_sha256"], value_set=sought.body_hashes))
    for row in pc.indices_nonzero(pc.fill_null(chosen, False)).to_pylist():
        found.message_ids.add(table["message_id"][row].as_py())
        yield row
    if sought.part not in table.column_names:
        return
    hints = [pc.match_substring(table[sought.part], needle) for needle in dict.fromkeys(sought.needles)]
    may_hold = pc.and_(reduce(pc.or_, hints), _in_scope(table, sought))
    may_hold = pc.and_not(may_hold, pc.fill_null(chosen, False))
    for row in pc.indices_nonzero(pc.fill_null(may_hold, False)).to_pylist():
        holds = sought.holds(table[sought.part][row].as_py())
        found.unreadable += holds is None
        if holds:
            found.message_ids.add(table["message_id"][row].as_py())
            yield row


def _in_scope(table: pa.Table, sought: Sought) -> pa.ChunkedArray:
    inside = pc.is_valid(table["message_id"])
    if sought.queue_ids is not None:
        inside = pc.and_(inside, pc.is_in(table["queue_id"], value_set=sought.queue_ids))
    if sought.since is not None:
        inside = pc.and_(inside, pc.greater_equal(table["sent_at"], pa.scalar(sought.since, table["sent_at"].type)))
    if sought.until is not None:
        inside = pc.and_(inside, pc.less(table["sent_at"], pa.scalar(sought.until, table["sent_at"].type)))
    return inside


def _erased(table: pa.Table, rows: list[int], marker: str) -> pa.Table:
    if not rows:
        return table
    mask = pc.is_in(pa.array(range(table.num_rows), pa.int64()), value_set=pa.array(rows, pa.int64()))
    for place, name in enumerate(table.column_names):
        if name in MARKED or name in EMPTIED:
            column = table[name]
            put = pa.scalar(marker if name in MARKED else None, column.type)
            there = pc.and_(mask, pc.is_valid(column)) if name in ("error", "result") else mask
            table = table.set_column(place, table.schema.field(place), pc.if_else(there, put, column))
    return table
