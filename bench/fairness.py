"""Benchmark of fairness: how long small groups wait alone, behind a large group, and without group limits."""

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from bench import pgbench
from bench.comparison import Arena
from bench.scenarios import SIGNALBOX

LARGE_MESSAGES = 1_000_000
SMALL_GROUPS = 100
EACH = 10
CLIENTS = 4
WINDOW = 10
SEND_EVERY_SECONDS = 0.005
CONSUMERS_START_SECONDS = 2.0
LAY_BATCH = 10_000


@dataclass(frozen=True)
class Waits:
    """Milliseconds from send to acknowledgement for the messages of small groups."""

    system: str
    messages: int
    median_ms: float
    p99_ms: float


def measure_fairness(arena: Arena, scale: float, progress: Callable[[str], None]) -> list[Waits]:
    """Send the small groups' messages while four consumers work: alone, behind a large group, without group limits."""
    large, small = int(LARGE_MESSAGES * scale), max(SMALL_GROUPS, int(SMALL_GROUPS * EACH * min(1.0, scale)))
    systems = [
        ("idle", {"group_max_in_flight": WINDOW}, 0),
        (f"{large:,} of another group, lanes of {WINDOW}", {"group_max_in_flight": WINDOW}, large),
        (f"{large:,} of another group, fair groups", {"fair_groups": True}, large),
        (f"{large:,} of another group, neither", {}, large),
    ]
    return [_measure(arena, name, settings, stock, small, progress) for name, settings, stock in systems]


def _measure(
    arena: Arena, name: str, settings: dict[str, Any], stock: int, small: int, progress: Callable[[str], None]
) -> Waits:
    progress(f"fairness: {name}")
    connection = arena.connection
    settings = {"group_max_in_flight": 0, "fair_groups": False, **settings}
    connection.execute("select signalbox.create_queue('fair')")
    connection.execute("select signalbox.configure_queue('fair', %s)", [Jsonb(settings)])
    _lay(connection, stock)
    sent: list[int] = []
    seconds = int(small * SEND_EVERY_SECONDS + CONSUMERS_START_SECONDS) + 3
    sender = threading.Thread(target=_send_small, args=(arena.url, small, sent))
    sender.start()
    pgbench.run_seconds(arena.url, SIGNALBOX.sql("fair_drain"), CLIENTS, seconds)
    sender.join()
    waits = _waits(connection, sent)
    _clear(connection)
    return Waits(name, len(waits), statistics.median(waits), statistics.quantiles(waits, n=100)[98])


def _lay(connection: psycopg.Connection, messages: int) -> None:
    for _ in range(messages // LAY_BATCH):
        connection.execute(
            "select count(*) from signalbox.send_batch('fair', array_fill(jsonb '{}', array[%(n)s::integer]),"
            " group_ids => array_fill('large'::text, array[%(n)s::integer]))",
            {"n": LAY_BATCH},
        )


def _send_small(url: str, messages: int, sent: list[int]) -> None:
    time.sleep(CONSUMERS_START_SECONDS)
    with psycopg.connect(url, autocommit=True) as connection:
        started = time.monotonic()
        for number in range(messages):
            time.sleep(max(0.0, started + number * SEND_EVERY_SECONDS - time.monotonic()))
            row = connection.execute(
                "select signalbox.send('fair', '{}', group_id => %s)", [f"small {number % SMALL_GROUPS}"]
            ).fetchone()
            sent.append(row[0] if row else 0)


def _waits(connection: psycopg.Connection, sent: list[int]) -> list[float]:
    """Time of each message until its ack, or until now if it still waits, which flatters the slow side."""
    rows = connection.execute(
        "select 1000 * extract(epoch from coalesce(s.settled_at, clock_timestamp()) - m.sent_at)::double precision"
        " from signalbox.queue q join signalbox.message m on m.queue_id = q.queue_id"
        " left join (select unnest(message_ids) as message_id, settled_at from signalbox.settled) s using (message_id)"
        " where q.name = 'fair' and m.message_id = any(%s)",
        [sent],
    )
    return [row[0] for row in rows]


def _clear(connection: psycopg.Connection) -> None:
    """Remove everything that could slow the next measurement."""
    purge = "select signalbox.purge('fair', states => '{ready,scheduled,waiting,leased}', max_messages => 100000)"
    while (row := connection.execute(purge).fetchone()) and row[0]:
        continue
