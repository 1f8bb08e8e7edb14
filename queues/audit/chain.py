"""Verify the audit: walk its chain and hash every row here, over plain rows of one statement.

The walk calls no function of the database: the owner of the schema can replace `_audit_hash` and `verify_audit`. The
functions and triggers that write the audit are compared with this release (`guards`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from queues.audit import exports as audit_exports
from queues.audit.exports import Fields, hash_of
from queues.database import sql_definitions
from queues.database.query import fetch
from queues.database.sql_scripts import scripts
from queues.errors import InvalidArgument
from queues.models import AuditEvent

FIRST_HASH = bytes(32)
MICROSECONDS = 1_000_000
GUARDING_SCRIPTS = "audit"  # a folder of queues/sql/


@dataclass(frozen=True)
class Verdict:
    """The result of a walk over the chain: `events` rows, and the position, id and complaint of the first wrong row.

    `hash` is that of the last row. `position` is None if the wrong row has no position in the chain, `event_id` is None
    if it is missing. Rows up to `pruned` were exported and removed. `guards` are the functions and triggers of the
    audit that are not this release's: rows may have been written past them.
    """

    events: int
    hash: str
    position: int | None
    event_id: int | None
    complaint: str
    pruned: int = 0
    guards: Sequence[str] = ()

    @property
    def intact(self) -> bool:
        return not self.complaint and not self.guards

    @property
    def last(self) -> int:
        """The position of the last row of an intact chain."""
        return self.pruned + self.events


def verify(noted: tuple[int, str] | None = None, exports: Sequence[Path] = ()) -> Verdict:
    """Walk the whole chain; the result names the first wrong row.

    `noted` is a position and a hash that were recorded elsewhere: the row at that position must still have that hash.
    `exports` are files of pruned rows: together they must have every row before the first one in the database. Raises
    `InvalidArgument` when `noted` was pruned and no export has it.
    """
    walk = _walk()
    verdict = walk.verdict()
    kept = {walk.anchor.position: walk.anchor.hash.hex()}
    if exports and not verdict.complaint:
        files = audit_exports.read(exports)
        verdict = _with_exports(files, verdict, walk.anchor.hash.hex())
        kept |= files.hashes
    if noted and not verdict.complaint:
        verdict = _against(noted, verdict, kept)
    return replace(verdict, guards=guards())


def _with_exports(files: audit_exports.Exports, verdict: Verdict, anchor: str) -> Verdict:
    if files.complaint:
        return replace(verdict, position=files.bad_position, complaint=f"in its export {files.complaint}")
    if files.last != verdict.pruned or files.hashes.get(files.last) != anchor:
        return replace(verdict, position=files.last, complaint="the exports end there, and not where the audit begins")
    return verdict


def _against(noted: tuple[int, str], verdict: Verdict, kept: dict[int, str]) -> Verdict:
    """Compare the chain with a noted hash: a rewritten chain is consistent in itself, but lacks that hash."""
    position, expected = noted
    event = AuditEvent.objects.filter(position=position).first()
    if event is not None and event.hash is not None:
        kept = {position: bytes(event.hash).hex()}
    elif position not in kept and 0 < position <= verdict.pruned:
        raise InvalidArgument(f"expect is of row {position}, which was pruned: name the export that has it", "expect")
    if kept.get(position) == expected.lower():
        return verdict
    complaint = "its hash is not the one that was noted" if position in kept else "it is missing"
    event_id = None if event is None else event.audit_event_id
    return replace(verdict, position=position, event_id=event_id, complaint=complaint)


@dataclass(frozen=True)
class _Anchor:
    """The last row that was exported and removed; a row of the chain must name the same `facts`."""

    position: int = 0
    hash: bytes = FIRST_HASH
    facts: dict[str, Any] = field(default_factory=dict)


_Wrong = tuple[int | None, int | None, str]
"""The position, the id and the complaint of a row."""


@dataclass
class _Walk:
    """The state of a walk: what was seen so far, and the first row that is wrong."""

    head: tuple[int, bytes] | None
    anchor: _Anchor
    events: int = 0
    chained: int = 0
    position: int = 0
    hash: bytes = b""
    is_anchor_confirmed: bool = False
    wrong: _Wrong | None = None
    unchained: _Wrong | None = None

    def see(self, row: Fields, previous: bytes | None, kept: bytes | None) -> None:
        self.events += 1
        if row.position is None:
            self.unchained = self.unchained or (None, row.event_id, "it was added past the chain")
            return
        self.chained += 1
        expected = self.anchor.position + self.chained
        before = self.hash or self.anchor.hash
        if complaint := _complaint(row, expected, before, previous, kept):
            self.wrong = self.wrong or (row.position, row.event_id, complaint)
        if row.action == "audit.prune" and row.position > self.anchor.position:
            self.is_anchor_confirmed |= json.loads(row.details) == self.anchor.facts
        self.position, self.hash = row.position, kept or b""

    def verdict(self) -> Verdict:
        bad = self.wrong or self.unchained or self._cut() or (None, None, "")
        if self.anchor.facts and not self.is_anchor_confirmed:
            bad = (self.anchor.position, None, "it was removed with all rows before it, and no row says by whom")
        return Verdict(self.events, self.hash.hex(), *bad, pruned=self.anchor.position)

    def _cut(self) -> _Wrong | None:
        if self.head is None:
            return None, None, "the head of the chain is missing: rows may have been removed from its end"
        position, digest = self.head
        if position == self.position and (digest == self.hash or not self.chained):
            return None
        if position < self.position:
            return position, None, "the head of the chain says that it was the last, and rows follow it"
        return position, None, "it was the last, and is missing"


def _complaint(row: Fields, expected: int, before: bytes, previous: bytes | None, kept: bytes | None) -> str:
    """Say what is wrong with a row; empty when it is as it was written."""
    position = row.position or 0
    if position < expected:
        return "it should have been removed with the rows before the anchor"
    if position == expected + 1:
        return "the row before it is missing"
    if position > expected:
        return f"{position - expected} rows before it are missing"
    if row.microseconds is None or previous is None or kept != hash_of(row, previous):
        return "it is not what was written"
    return "" if previous == before else "it does not follow the row before it"


def _walk() -> _Walk:
    """Walk the chain. One statement streams the rows of one snapshot."""
    walk: _Walk | None = None
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(_CHAIN)
        for row in cursor:
            *values, previous, digest = row[: len(Fields._fields) + 2]
            walk = walk or _begin(row[len(Fields._fields) + 2 :])
            fields = Fields._make(values)
            if fields.event_id is not None:
                fields = fields._replace(microseconds=_microseconds(fields.microseconds))
                walk.see(fields, _bytes(previous), _bytes(digest))
    return walk or _begin([None] * 7)  # the statement has a row also where the audit has none


def _begin(bounds: Sequence[Any]) -> _Walk:
    head_position, head_hash, position, digest, rows, export, sha256 = bounds
    head = None if head_position is None else (int(head_position), bytes(head_hash))
    if position is None:
        return _Walk(head, _Anchor())
    digest, written = bytes(digest), bytes(sha256).hex()
    facts = {"through": position, "hash": digest.hex(), "rows": rows, "export": export, "sha256": written}
    return _Walk(head, _Anchor(int(position), digest, facts))


def _microseconds(seconds: Any) -> int | None:
    """Convert seconds, a Decimal, to microseconds; None for infinity."""
    return int(seconds * MICROSECONDS) if seconds is not None and seconds.is_finite() else None


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


# Index: that of audit_event.position, whose nulls come last. Tables are named with their schema; there is no call but
# those that PostgreSQL's parser makes of its own syntax.
_CHAIN = """
select e.position, e.audit_event_id, extract(epoch from e.at), e.actor, e.action, e.queue_id, e.queue_name, e.reason,
  cast(e.details as pg_catalog.text), e.database_role, e.application_name, e.previous_hash, e.hash,
  h.position, h.hash, a.position, a.hash, a.rows, a.export, a.export_sha256
from (select 1) one
left join (select * from signalbox.audit_head limit 1) h on true
left join (select * from signalbox.audit_anchor order by position desc limit 1) a on true
left join signalbox.audit_event e on true
order by e.position
"""


def guards() -> list[str]:
    """Name the audit's functions, triggers and tables that differ from this release, in sentences."""
    wanted = [function for _, script in scripts(GUARDING_SCRIPTS) for function in sql_definitions.declared(script)]
    functions = sql_definitions.differing(wanted, sql_definitions.installed(connection))
    return [f"the function {name} is not this release's" for name in functions] + _table_complaints()


def _table_complaints() -> list[str]:
    tables = {name: facts for name, *facts in fetch(_TABLES)}
    triggers = set(fetch(_TRIGGERS))
    plain = [f"{name} is not a plain table" for name in GUARDED_TABLES if tables.get(name) != ["r", False, False]]
    missing = {trigger[:2] for trigger in TRIGGERS - triggers}
    others = {trigger[:2] for trigger in triggers - TRIGGERS} - missing
    return [
        *plain,
        *(f"the trigger {name} of {table} is missing, switched off or another" for table, name in sorted(missing)),
        *(f"the trigger {name} of {table} is not this release's" for table, name in sorted(others)),
    ]


GUARDED_TABLES = ("audit_event", "audit_head", "audit_anchor")
ROW, BEFORE, INSERT, DELETE, UPDATE, TRUNCATE = 1, 2, 4, 8, 16, 32  # bits of pg_trigger.tgtype
ENABLED = "O"

#: (table, trigger, function, type, enabled, deferred, has no condition) of each required trigger.
TRIGGERS = {
    ("audit_event", "audit_enter", "_enter_audit", ROW | BEFORE | INSERT, ENABLED, False, True),
    ("audit_event", "audit_keep", "_keep_audit", ROW | BEFORE | DELETE | UPDATE, ENABLED, False, True),
    ("audit_event", "audit_keep_all", "_keep_audit", BEFORE | TRUNCATE, ENABLED, False, True),
    ("audit_event", "zz_audit_seal", "_seal_audit", ROW | INSERT, ENABLED, True, True),
    ("audit_anchor", "anchor_keep", "_keep_anchors", ROW | BEFORE | INSERT | DELETE | UPDATE, ENABLED, False, True),
    ("audit_anchor", "anchor_keep_all", "_keep_anchors", BEFORE | TRUNCATE, ENABLED, False, True),
}
_TABLES = """
select c.relname::pg_catalog.text, c.relkind::pg_catalog.text, c.relhasrules, c.relrowsecurity
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
where n.nspname operator(pg_catalog.=) 'signalbox' and c.relname operator(pg_catalog.~) '^audit_(event|head|anchor)$'
"""
_TRIGGERS = """
select c.relname::pg_catalog.text, t.tgname::pg_catalog.text, p.proname::pg_catalog.text, t.tgtype::pg_catalog.int4,
  t.tgenabled::pg_catalog.text, t.tginitdeferred, t.tgqual is null
from pg_catalog.pg_trigger t
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) t.tgrelid
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
join pg_catalog.pg_proc p on p.oid operator(pg_catalog.=) t.tgfoid and p.pronamespace operator(pg_catalog.=) n.oid
where n.nspname operator(pg_catalog.=) 'signalbox' and c.relname operator(pg_catalog.~) '^audit_(event|head|anchor)$'
  and not t.tgisinternal
"""
