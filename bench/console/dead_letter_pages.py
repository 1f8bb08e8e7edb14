"""Benchmark of the dead-letter pages over five million dead letters in 500 failure groups.

SQL inserts the dead letters in bulk. The benchmark measures whole pages one after the other, from the request to the
answer, with all statements and rendering, in the console's own process.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import psycopg
from psycopg import connect

from bench.server import ScratchServer
from bench.tables import table_line

LETTERS = 5_000_000
CLUSTERS = 500
CHUNK = 250_000
QUEUES = 20
ROUNDS, LEAST_ROUNDS = 40, 3
LETTERS_A_ROUND = 5_000
"""Rows of a round; fewer than 200,000 dead letters are for a trial run only."""
DEEP = 0.9
"""Share of all messages before the deep page."""

# Rows as `_dead_letter` would leave them, each error in two queues: the smaller its number, the more rows.
LAY = """
insert into signalbox.dead_letter (
  message_id, queue_id, source_queue_id, source_queue, payload, attributes, priority, sent_at, receive_count,
  first_failed_at, last_failed_at, reason, error_class, error, fingerprint, consumer, died_at
)
select nextval('signalbox.message_id'), q.holder_id, q.queue_id, q.name,
  jsonb_build_object('order', jsonb_build_object('id', n, 'region', 'r' || n %% 1000), 'text', repeat('x', 120)),
  jsonb_build_object('kind', 'k' || n %% 7), 0, d.died_at - interval '1 minute', 5, d.died_at, d.died_at,
  'runtime_error', 'shop.Error' || c.number, 'order ' || n || ' failed', 'v2:' || lpad(to_hex(c.number), 16, '0'),
  'worker-1', d.died_at
from generate_series(%(first)s::bigint, %(last)s::bigint) n
cross join lateral (select floor(power((n * 7919 %% 1000003) / 1000003.0, 2) * %(clusters)s)::integer as number) c
cross join lateral (select clock_timestamp() - (%(total)s - n) * interval '10 days' / %(total)s as died_at) d
join graves q on q.number = (c.number + n %% 2) %% %(queues)s
"""


@dataclass(frozen=True)
class PageTime:
    """Times of one kind of page: milliseconds from request to answer, median and 95th percentile."""

    page: str
    letters: int
    median_ms: float
    p95_ms: float


def measure_dead_letter_pages(
    connection: psycopg.Connection, server: ScratchServer, scale: float, say: Callable[[str], None]
) -> list[PageTime]:
    """Insert the dead letters, aggregate their counters, and time each page."""
    letters = max(CLUSTERS * 4, int(LETTERS * scale))
    _lay(connection, letters, say)
    _settle(connection, say)
    say(f"dead letters: pages over {letters:,}")
    rounds = max(LEAST_ROUNDS, min(ROUNDS, letters // LETTERS_A_ROUND))
    return [_timed(name, letters, page, rounds) for name, page in _pages(server, letters).items()]


def dead_letter_page_lines(times: list[PageTime]) -> list[str]:
    """Section of the report for people."""
    widths = (44, 13, 11, 9)
    lines = [
        f"Pages over {times[0].letters:,} dead letters in {CLUSTERS} failure groups",
        table_line(("", "dead letters", "median ms", "p95 ms"), widths),
    ]
    rows = [(one.page, f"{one.letters:,}", f"{one.median_ms:.1f}", f"{one.p95_ms:.1f}") for one in times]
    return lines + [table_line(row, widths) for row in rows]


def _lay(connection: psycopg.Connection, letters: int, say: Callable[[str], None]) -> None:
    connection.execute("create temporary table graves (number integer, queue_id integer, holder_id integer, name text)")
    for number in range(QUEUES):
        connection.execute("select signalbox.create_queue(%s)", [f"dead-{number}"])
    connection.execute(
        "insert into graves select split_part(q.name, '-', 2)::integer, q.queue_id,"
        " signalbox._dead_letter_queue(q.queue_id), q.name from signalbox.queue q where q.name like 'dead-%'"
        " and not q.is_dead_letter_queue"
    )
    for first in range(1, letters + 1, CHUNK):
        last = min(first + CHUNK - 1, letters)
        say(f"dead letters: {last:,} of {letters:,}")
        given = {"first": first, "last": last, "total": letters, "clusters": CLUSTERS, "queues": QUEUES}
        connection.execute(LAY, given)
    # The counters of the queues, as the verbs would have appended them.
    connection.execute(
        "insert into signalbox.counter_delta (queue_id, event, amount)"
        " select d.source_queue_id, e, count(*)"
        " from signalbox.dead_letter d, unnest('{1,3,9}'::smallint[]) e group by 1, 2"
        " union all select d.queue_id, 22, count(*) from signalbox.dead_letter d group by 1"
    )


def _settle(connection: psycopg.Connection, say: Callable[[str], None]) -> None:
    say("dead letters: vacuum, and aggregation of the counters")
    connection.execute("vacuum (analyze) signalbox.dead_letter")
    deadline = time.monotonic() + 600
    while connection.execute("select exists (select from signalbox.pending_failure_groups())").fetchone() == (True,):
        connection.execute(
            "select signalbox.aggregate_failure_groups()"
        )  # upkeep does so too: the first of both does the work
        if time.monotonic() > deadline:
            raise TimeoutError("the counters of failure groups were never aggregated")
    connection.execute("vacuum (analyze) signalbox.failure_cluster")
    connection.execute("vacuum (analyze) signalbox.failure_cluster_queue")
    connection.execute("vacuum (analyze) signalbox.failure_cluster_bucket")


def _pages(server: ScratchServer, letters: int) -> dict[str, Callable[[], Any]]:
    """Pages of the console over the scratch server, for a user who may see everything."""
    environment = {"SIGNALBOX_HOME": str(server.home), "DATABASE_URL": server.url}
    os.environ |= {**environment, "DJANGO_SETTINGS_MODULE": "console.settings", "HTTPS_ONLY": "false"}
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    browser = Client(SERVER_NAME="localhost")
    browser.force_login(User.objects.create_superuser("bench"))

    def page(path: str, **parameters: str) -> Callable[[], Any]:
        def get() -> None:
            answer = browser.get(path, parameters)
            if answer.status_code != 200:
                raise RuntimeError(f"{path} answered {answer.status_code}")

        return get

    with connect(server.url) as connection:
        (newest,) = connection.execute("select max(dead_letter_id) from signalbox.dead_letter").fetchone() or (0,)
    deep = str(newest - int(letters * DEEP))
    return {
        "dead letters: failure groups and messages": page("/dead-letters"),
        "messages, second page": page("/dead-letters", after=str(newest - 50)),
        "messages, deep page": page("/dead-letters", after=deep),
        "all failure groups": page("/dead-letters/failure-groups"),
        "failure groups and messages of one queue": page("/dead-letters", q="queue:dead-3"),
        "one failure group": page(f"/dead-letters/failure-groups/v2:{7:016x}"),
        "by payload path": page("/dead-letters", q="payload.order.region:r77"),
        "by payload path and queue": page("/dead-letters", q="queue:dead-3 payload.order.region:r103"),
    }


def _timed(name: str, letters: int, page: Callable[[], Any], rounds: int) -> PageTime:
    page()  # the connection, its plans and its caches
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        page()
        times.append((time.perf_counter() - started) * 1000)
    return PageTime(name, letters, median(times), quantiles(times, n=20)[-1])
