"""Bytes of disk for a message that ended: `python -m bench.fleet.disk --messages 100000`.

Sends messages with the benchmark's payload, receives and acknowledges them, and divides the growth of the schema by
their number.
"""

from __future__ import annotations

import argparse

import psycopg

from bench.scenarios import PAYLOAD
from bench.server import ScratchServer

BATCH = 100
SIZE = """
select sum(pg_total_relation_size(c.oid))
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'signalbox' and c.relkind in ('r', 'm')
"""
SEND = "select count(*) from signalbox.send_batch('disk', array_fill(%s::jsonb, array[%s]))"
DRAIN = "select count(*) from signalbox.ack(array(select receipt_handle from signalbox.receive('disk', %s)))"


def stored_bytes(connection: psycopg.Connection, messages: int) -> float:
    """Bytes of tables and indexes for one message that was sent and acknowledged."""
    connection.execute("select signalbox.create_queue('disk')")
    before = _size(connection)
    for _ in range(messages // BATCH):
        connection.execute(SEND, (PAYLOAD, BATCH))
    for _ in range(messages // BATCH):
        connection.execute(DRAIN, (BATCH,))
    connection.execute("vacuum")
    return (_size(connection) - before) / messages


def _size(connection: psycopg.Connection) -> int:
    [(size,)] = connection.execute(SIZE).fetchall()
    return int(size)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.disk", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    messages = parser.parse_args().messages
    with ScratchServer() as server, server.connect() as connection:
        print(f"{stored_bytes(connection, messages):,.0f} bytes of disk for each message of {messages:,}")


if __name__ == "__main__":
    main()
