"""Search one Parquet file for an erasure, and rewrite it without the contents of the rows that were found."""

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
"""Columns whose values are replaced by the marker of the erasure."""
CLEARED = ("attributes", "details", "body_sha256", "body_bytes")


@dataclass(frozen=True)
class Sought:
    """The target of the search: message ids and body hashes to erase, and a test of other documents.

    `holds` tests documents that contain one of the needles; it returns None for a document that is not readable JSON.
    """

    part: str
    needles: tuple[str, ...]
    holds: Callable[[str], bool | None]
    message_ids: pa.Array
    body_hashes: pa.Array
    queue_ids: pa.Array | None
    since: Any
    until: Any


@dataclass
class Found:
    """Rows to erase in one file, by row group, and the ids of their messages."""

    looked: int = 0
    unreadable: int = 0
    rows: list[list[int]] = field(default_factory=list)
    message_ids: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        return sum(len(rows) for rows in self.rows)


def search(store: Store, path: str, sought: Sought) -> Found:
    """Search a file, a row group at a time, reading only the columns that are needed."""
    found = Found()
    with store.system.open_input_file(store.whole(path)) as stream:
        file = pq.ParquetFile(stream)
        needed = ("message_id", "queue_id", "sent_at", "appended_at", "body_sha256", sought.part)
        columns = [name for name in needed if name in file.schema_arrow.names]
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=columns)
            found.looked += table.num_rows
            found.rows.append(list(_rows(table, sought, found)))
    return found


def rewrite(store: Store, kind: str, old: str, new: str, found: Found, marker: str) -> int:
    """Write a copy of the file with the found rows erased; return the number of rows written."""
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
    known = _known(table, sought)
    for row in pc.indices_nonzero(pc.fill_null(known, False)).to_pylist():
        _note(table, row, found)
        yield row
    if sought.part not in table.column_names:
        return
    hints = [pc.match_substring(table[sought.part], needle) for needle in dict.fromkeys(sought.needles)]
    may_hold = pc.and_(reduce(pc.or_, hints), _in_scope(table, sought))
    may_hold = pc.and_not(may_hold, pc.fill_null(known, False))
    for row in pc.indices_nonzero(pc.fill_null(may_hold, False)).to_pylist():
        holds = sought.holds(table[sought.part][row].as_py())
        found.unreadable += holds is None
        if holds:
            _note(table, row, found)
            yield row


def _known(table: pa.Table, sought: Sought) -> Any:
    """Select messages that were found elsewhere. Those of streams have no ids, and are found by the value alone."""
    if "message_id" not in table.column_names:
        return pa.repeat(False, table.num_rows)
    known = pc.is_in(table["message_id"], value_set=sought.message_ids)
    if "body_sha256" in table.column_names:
        known = pc.or_(known, pc.is_in(table["body_sha256"], value_set=sought.body_hashes))
    return known


def _note(table: pa.Table, row: int, found: Found) -> None:
    if "message_id" in table.column_names:
        found.message_ids.add(table["message_id"][row].as_py())


def _in_scope(table: pa.Table, sought: Sought) -> Any:
    of_queues = "queue_id" in table.column_names
    if sought.queue_ids is not None and not of_queues:
        return pa.repeat(False, table.num_rows)
    conditions = [pc.is_valid(table["message_id"] if of_queues else table["appended_at"])]
    if sought.queue_ids is not None:
        conditions.append(pc.is_in(table["queue_id"], value_set=sought.queue_ids))
    at = table["sent_at"] if of_queues else table["appended_at"]
    for compare, bound in ((pc.greater_equal, sought.since), (pc.less, sought.until)):
        if bound is not None:
            conditions.append(compare(at, pa.scalar(bound, at.type)))
    return reduce(pc.and_, conditions)


def _erased(table: pa.Table, rows: list[int], marker: str) -> pa.Table:
    if not rows:
        return table
    mask = pc.is_in(pa.array(range(table.num_rows), pa.int64()), value_set=pa.array(rows, pa.int64()))
    for index, name in enumerate(table.column_names):
        if name in MARKED or name in CLEARED:
            column = table[name]
            value = pa.scalar(marker if name in MARKED else None, column.type)
            erased = pc.and_(mask, pc.is_valid(column)) if name in ("error", "result") else mask
            table = table.set_column(index, table.schema.field(index), pc.if_else(erased, value, column))
    return table
