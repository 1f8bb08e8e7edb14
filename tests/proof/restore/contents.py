"""A database with messages in every state, and what must be found of them wherever it is restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.engine import Engine

HOUR = 3600
BODY = "sha256('a large body')"

Connection = psycopg.Connection[Any]


@dataclass
class Contents:
    """Message ids by outcome before the backup."""

    claimable: set[int] = field(default_factory=set)
    """Ids that are ready, due within a moment, or under an expired lease."""
    held: list[str] = field(default_factory=list)
    """Receipt handles of leases that have an hour."""
    held_ids: set[int] = field(default_factory=set)
    resting: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)
    trashed: set[int] = field(default_factory=set)
    trash_batch: int = 0
    groups: list[str] = field(default_factory=list)
    """Payloads of a FIFO group, in order."""
    large: int = 0
    unread: list[str] = field(default_factory=list)
    """Payloads of the stream that its group had not read."""
    archived_below: int = 0
    last_id: int = 0


def queue(connection: Connection, name: str, **settings: Any) -> Engine:
    row = connection.execute("select signalbox.create_queue(%s, %s)", [name, Jsonb(settings)]).fetchone()
    assert row is not None
    return Engine(connection, name, row[0])


def burn(connection: Connection, transactions: int) -> None:
    """Use up transaction ids."""
    connection.execute("set synchronous_commit = off")
    connection.execute(
        f"do $$ begin for i in 1..{transactions} loop perform pg_current_xact_id(); commit; end loop; end $$".encode()
    )
    connection.execute("reset synchronous_commit")


def fold(connection: Connection) -> None:
    """Wait until the counters are complete, whichever process aggregates."""
    for verb in ("aggregate_counters", "aggregate_failure_groups"):
        while connection.execute(f"select signalbox.{verb}()".encode()).fetchone() == (None,):
            pass


def fill(connection: Connection, then: Callable[[], None] = lambda: None) -> Contents:
    """Messages in every state: some counted by an aggregation, others after `then`, behind the last aggregation."""
    made = Contents()
    orders = queue(connection, "orders", max_backlog_messages=100_000, max_receives=3)
    _archive(orders, made)
    _kill(orders, made)
    _hold(orders, made)
    made.claimable |= {orders.send({"n": n}, priority=n % 3) for n in range(20)}
    made.resting |= {orders.send({"n": n}, delay_seconds=24 * HOUR) for n in range(3)}
    _line_up(connection, made)
    _stream(connection, made)
    connection.execute(f"select signalbox.claim_body({BODY}, 300000)".encode())
    made.large = orders.send(None, body_sha256=_hash(connection))
    made.claimable.add(made.large)
    connection.execute("select signalbox.rename_queue('orders', 'sales')")
    fold(connection)
    then()
    sales = Engine(connection, "sales", orders.queue_id)
    made.claimable |= {sales.send({"late": n}) for n in range(7)}
    made.claimable |= {row[0] for row in sales.receive(2, visibility_timeout=0)}
    made.last_id = sales.value("select last_value from signalbox.message_id")
    return made


def _hash(connection: Connection) -> bytes:
    row = connection.execute(f"select {BODY}".encode()).fetchone()
    assert row is not None
    return bytes(row[0])


def _archive(orders: Engine, made: Contents) -> None:
    """Four that ended and are in the archive, and three that ended since."""
    for count in (4, 3):
        for n in range(count):
            orders.send({"done": n})
        orders.ack(*[row[1] for row in orders.receive(count)])
        if not made.archived_below:
            made.archived_below = _move_horizon(orders)


def _move_horizon(orders: Engine) -> int:
    """Beyond all that has ended, once no transaction that began before is open: autovacuum may have one."""
    ended = orders.value("select max(txid) from signalbox.settled")
    low, high = 0, 0
    while high <= ended:
        low, high = orders.rows("select low, high from signalbox.hold_for_archive()")[0]
    assert orders.value("select signalbox.move_archive_horizon(%s, %s)", low, high)
    return int(high)


def _kill(orders: Engine, made: Contents) -> None:
    letters = [orders.die({"dead": n}, error_class="Declined") for n in range(6)]
    made.trash_batch = orders.value("select signalbox.open_trash_batch(%s)", 24 * HOUR)
    orders.value("select signalbox.delete_dead_letters(%s, %s)", letters[4:], made.trash_batch)
    made.trashed = {row[0] for row in orders.rows("select message_id from signalbox.trash")}
    orders.value("select count(*) from signalbox.redrive(%s)", letters[3:4])
    made.claimable.add(orders.receive_one(visibility_timeout=0)[0])
    made.dead = {row[0] for row in orders.rows("select message_id from signalbox.dead_letter")}


def _hold(orders: Engine, made: Contents) -> None:
    for n in range(4):
        orders.send({"held": n}, priority=9)
    rows = orders.receive(4, visibility_timeout=10 * HOUR)
    made.held, made.held_ids = [row[1] for row in rows], {row[0] for row in rows}


def _line_up(connection: Connection, made: Contents) -> None:
    line = queue(connection, "line", mode="fifo")
    made.groups = [f"step {n}" for n in range(4)]
    for payload in made.groups:
        line.send(payload, group_id="customer 7")


def _stream(connection: Connection, made: Contents) -> None:
    """One partition, of whose five messages a group has read two; and a subscription that has fed its queue."""
    connection.execute("select signalbox.create_stream('log', '{\"partitions\": 1}')")
    queue(connection, "fed")
    connection.execute("select signalbox.create_group('log', 'reader', 'beginning')")
    connection.execute("select signalbox.create_group('log', 'feed', 'beginning', queue => 'fed')")
    for n in range(5):
        connection.execute("select signalbox.append('log', %s)", [Jsonb(f"event {n}")])
    read = connection.execute("select position, epoch from signalbox.read_stream('log', 'reader', 'r', 2)").fetchall()
    connection.execute("select signalbox.commit_offset('log', 'reader', 'r', 0, %s, %s)", read[-1])
    made.unread = [f"event {n}" for n in range(2, 5)]
    while connection.execute("select signalbox.feed_queues()").fetchone() != (0,):
        pass
