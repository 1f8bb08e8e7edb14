"""Regular removal of test data: pages, scrapes and upkeep grow with the number of queues."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg

MANY = 50
"""Queues, from which on it is worth the time."""

# Whatever belongs to a queue or a stream. What is kept of people, jobs and the audit's chain stays.
TABLES = """
select string_agg(format('signalbox.%I', c.relname), ', ')
from pg_class c
where c.relnamespace = 'signalbox'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and (c.relname like 'group\\_%' or c.relname like 'staged\\_%' or exists (
    select from pg_attribute a
    where a.attrelid = c.oid and not a.attisdropped
      and a.attname in ('queue_id', 'source_queue_id', 'stream_id', 'subscription_id')
  ))
  and c.relname <> all ('{audit_event,erasure_find,admission_counter,refusal,pipeline_comparison,pipeline_finding}')
"""
SEGMENTS_OF_STREAMS = """
select string_agg(i.inhrelid::regclass::text, ', ')
from pg_inherits i
where i.inhparent = 'signalbox.stream_message'::regclass
"""
# The sequences that limits of queues count by.
REGISTERS = """
with counters as (delete from signalbox.admission_counter g where g.queue_id is not null returning g.*),
  refusals as (delete from signalbox.refusal r where r.queue_id is not null returning r.counter)
select string_agg(register::text, ', ')
from (
  select unnest(array[
    next_free, last_xid, admitted, base, bytes_held, mean_bytes, oldest, evaluated, lost, mark_admitted, mark_xid
  ]) from counters
  union all select counter from refusals
) r(register)
"""


def sweep(dsn: str) -> None:
    """Remove every queue and stream when there are many; not while another process uses them."""
    with suppress(psycopg.OperationalError), psycopg.connect(dsn) as connection:
        connection.execute("set lock_timeout = '5s'")
        if _value(connection, "select count(*) from signalbox.queue") < MANY:
            return
        if segments := _value(connection, SEGMENTS_OF_STREAMS):
            connection.execute(f"drop table {segments}".encode())
        if registers := _value(connection, REGISTERS):
            connection.execute(f"drop sequence {registers}".encode())
        connection.execute(f"truncate {_value(connection, TABLES)}".encode())


def _value(connection: psycopg.Connection[Any], statement: str) -> Any:
    row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None
