"""A captured table of the demo: the worker of the queue shipments writes it, and its changes are a stream."""

from __future__ import annotations

from django.db import connection

TABLE, STREAM, TENANT = "public.demo_shipment", "shipment-changes", "acme"
KEPT_SHIPMENTS = 500
"""The worker deletes the oldest above this number, so that the table has deletions too."""

_CREATE = """
create table if not exists public.demo_shipment (
  order_id bigint primary key,
  company text not null,
  status text not null,
  updated_at timestamptz not null default now()
)
"""
_NOTE = """
insert into public.demo_shipment (order_id, company, status) values (%s, %s, %s)
on conflict (order_id) do update set status = excluded.status, updated_at = now()
"""
_FORGET = """
delete from public.demo_shipment
where order_id in (select order_id from public.demo_shipment order by updated_at desc offset %s)
"""


def build() -> None:
    """Create the table and capture its changes, or keep those of an earlier run."""
    from queues.control import streams
    from queues.messages import client

    streams.create_stream(STREAM, {"partitions": 2, "retention_seconds": 86_400}, tenant=TENANT, actor="demo")
    with connection.cursor() as cursor:
        cursor.execute(_CREATE)
        cursor.execute("select exists (select from signalbox.captures() where table_name = %s)", [TABLE])
        (is_captured,) = cursor.fetchone() or (False,)
    if not is_captured:
        client().capture(TABLE, STREAM)


def note(order_id: int, company: str, status: str) -> None:
    """Write the status of one shipment."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [order_id, company, status])
        cursor.execute(_FORGET, [KEPT_SHIPMENTS])
