"""Upkeep of captures from the log: read the slot of each, append its changes to the stream, and let the log go.

Changes are appended in one transaction with the place up to which the log was read, and the slot moves after its
commit. A crash in between reads the same transactions again, and passes over those before the place.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from queues.upkeep.pgoutput import Change, Row, Transaction, transactions
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

MAX_CHANGES = 5_000
"""Changes of one round; a transaction is read as a whole."""
APPENDED_TOGETHER = 1_000

_CAPTURES = "select capture_id, slot from signalbox.capture where slot is not null order by capture_id"
_HELD = """
select c.applied_lsn - '0/0'::pg_lsn, array(
  select a.attname::text from pg_attribute a where a.attrelid = c.table_id and a.attnum > 0 and not a.attisdropped
  order by a.attnum
)
from signalbox.capture c where c.capture_id = %s for update skip locked
"""
_PEEK = """
select data from pg_logical_slot_peek_binary_changes(
  %s, %s::pg_lsn, %s, 'proto_version', '1', 'publication_names', %s
)
"""
_APPEND = "select signalbox.append_log_changes(%s, %s, '0/0'::pg_lsn + %s::numeric)"
_TRUNCATE = "select signalbox._append_to_all_partitions(%s, 'truncate', %s)"
_ADVANCE = "select pg_replication_slot_advance(%s, %s::pg_lsn)"


class LogCaptures:
    """The captures from the log, over one connection of upkeep."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self._refused: dict[int, str] = {}

    def follow(self) -> None:
        """Read each slot once. One that cannot be read is logged once for each cause, and stops no other."""
        for capture_id, slot in self.connection.execute(_CAPTURES).fetchall():
            try:
                self._follow(capture_id, slot)
                self._refused.pop(capture_id, None)
            except psycopg.Error as error:
                if self.connection.closed:
                    raise
                if self._refused.get(capture_id) != (cause := in_brief(error)):
                    self._refused[capture_id] = cause
                    log.error("capture %s from the log cannot go on: %s", capture_id, cause)

    def _follow(self, capture_id: int, slot: str) -> None:
        self.connection.execute("select signalbox.open_capture_slot(%s)", [capture_id])
        with self.connection.transaction():
            row = self.connection.execute(_HELD, [capture_id]).fetchone()
            if row is None:
                return  # another process reads it, or it has ended
            end = self._append(capture_id, slot, *row)
        self.connection.execute(_ADVANCE, [slot, end])

    def _append(self, capture_id: int, slot: str, applied: int, columns: list[str]) -> str:
        """Append what the slot has; return the place up to which it is not needed any more."""
        (now,) = self.connection.execute("select pg_current_wal_flush_lsn()::text").fetchone() or ("0/0",)
        read = self.connection.execute(_PEEK, [slot, now, MAX_CHANGES, slot]).fetchall()
        known = list(transactions(bytes(data) for (data,) in read))
        for one in known:
            if one.end_lsn > applied:
                self._append_transaction(capture_id, one, columns)
        is_all = len(read) < MAX_CHANGES
        return now if is_all or not known else f"{known[-1].end_lsn >> 32:X}/{known[-1].end_lsn & 0xFFFFFFFF:X}"

    def _append_transaction(self, capture_id: int, one: Transaction, columns: Sequence[str]) -> None:
        """Append the changes of one transaction; a truncation is appended between the changes before and after it."""
        waiting: list[dict[str, object]] = []

        def flush() -> None:
            for at in range(0, len(waiting), APPENDED_TOGETHER) or (0,):
                some = Jsonb(waiting[at : at + APPENDED_TOGETHER])
                self.connection.execute(_APPEND, [capture_id, some, one.end_lsn])
            waiting.clear()

        for change in one.changes:
            if change.op == "truncate":
                flush()
                self.connection.execute(_TRUNCATE, [capture_id, Jsonb({"transaction_id": one.xid})])
            else:
                waiting.append({**_document(change, columns), "transaction_id": one.xid})
        flush()


def _document(change: Change, columns: Sequence[str]) -> dict[str, object]:
    missing = [name for name in columns if change.new is not None and name not in change.new]
    return {
        "op": change.op,
        "old": change.old and _composite(change.old, columns),
        "new": change.new and _composite(change.new, columns),
        "is_key": change.is_key,
        "unchanged": missing,
    }


def _composite(row: Row, columns: Sequence[str]) -> str:
    """Write a row as PostgreSQL's text of a composite value of the table."""
    return "(" + ",".join(_quoted(row.get(name)) for name in columns) + ")"


def _quoted(text: str | None) -> str:
    return "" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'
