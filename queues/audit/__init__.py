"""The record of what people and programs did, written in the action's own transaction: no action without its row.

Rows are written by one function (`queues/sql/audit/_record_audit.sql`): verbs that change a queue or a stream call it
themselves, services call it through `record`. Only `queues.audit.pruning` deletes rows; the database refuses every
other change of a row. Each row has the hash of the row before (`queues/sql/audit/_seal_audit.sql`), so
`queues.audit.chain.verify` finds a change that was made in spite of that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import pq

from queues.audit.chain import Verdict, verify
from queues.database.query import fetch
from queues.models import AuditEvent, Queue

__all__ = ["Verdict", "acting", "record", "verify"]


def record(
    actor: str, action: str, queue: Queue | None = None, reason: str = "", details: dict[str, Any] | None = None
) -> AuditEvent:
    """Add one row: who (`actor`) did what (`action`, say "queue.pause"), to which queue, why, with which values.

    Verbs write their own rows: see `acting`.
    """
    queue_id, name = (queue.queue_id, queue.name) if queue else (None, "")
    [event] = AuditEvent.objects.raw(_RECORD, [actor, action, queue_id, name, reason, json.dumps(details or {})])
    return event


@contextmanager
def acting(actor: str, reason: str = "", details: dict[str, Any] | None = None) -> Iterator[None]:
    """Name the person in the rows that verbs write within the block; use it inside a transaction.

    It has an effect only for members of the role that owns the audit: rows of other roles say `sql:ROLE`. `details` are
    added to the details of the verb.
    """
    before = _note_actor(json.dumps({"actor": actor, "reason": reason, "details": details or {}}))
    try:
        yield
    finally:
        if connection.connection.info.transaction_status == pq.TransactionStatus.INTRANS:
            _note_actor(before)  # a rollback restores it by itself


def _note_actor(acting: str) -> str:
    [(before, _)] = fetch(_NOTE_ACTOR, [acting])
    return str(before)


_RECORD = """
select e.* from signalbox._record_audit(%s::text, %s::text, %s::integer, %s::text, %s::text, %s::jsonb) e
"""
_NOTE_ACTOR = """
with noted as materialized (select coalesce(current_setting('signalbox.acting', true), '') as before)
select n.before, set_config('signalbox.acting', %s, true) from noted n
"""
