"""Cost of failure-group pages and aggregations is independent of the number of dead letters: plans over many rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from queues.failure_groups.order import Sort, Wanted, keys
from tests.engine import Engine
from tests.queues.dead_letters.clusters import fold

Connect = Callable[..., psycopg.Connection[Any]]


def test_a_page_of_clusters_reads_the_head_of_an_index(engine: Engine, connect: Connect) -> None:
    session = engine.on(connect())
    with session.connection.transaction(force_rollback=True):
        session.connection.execute(
            "insert into signalbox.failure_cluster (fingerprint, first_seen, last_seen, deaths, dead)"
            " select 'plan-' || n, now(), now(), n, n from generate_series(1, 50000) n"
        )
        session.connection.execute("analyze signalbox.failure_cluster")
        for sort, index in ((Sort.WORST, "failure_cluster_worst"), (Sort.NEWEST, "failure_cluster_newest")):
            query = keys(Wanted(), sort, None, 26, backwards=False)
            rows = session.connection.execute(f"explain (analyze, timing off) {query.sql}".encode(), query.params)
            plan = "\n".join(row[0] for row in rows.fetchall())
            assert index in plan
            assert "Seq Scan on failure_cluster" not in plan


def test_deltas_that_were_folded_are_not_read_again(engine: Engine, connect: Connect) -> None:
    engine.die(1)
    fold(engine)

    assert (
        engine.value("select count(*) from signalbox.pending_failure_groups() u where u.queue_id = %s", engine.queue_id)
        == 0
    )
