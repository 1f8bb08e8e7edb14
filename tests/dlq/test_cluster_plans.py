"""What a page of clusters and a fold read does not grow with what is dead: plans over many rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from dlq.browse import Place
from dlq.clusters import Narrowing, Sort
from dlq.clusters.listing import _keys
from tests.engine import Engine
from tests.queues.clusters import fold

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
            query = _keys(Narrowing(), sort, Place(), 26)
            rows = session.connection.execute(f"explain (analyze, timing off) {query.sql}".encode(), query.params)
            plan = "\n".join(row[0] for row in rows.fetchall())
            assert index in plan
            assert "Seq Scan on failure_cluster" not in plan


def test_deltas_that_were_folded_are_not_read_again(engine: Engine, connect: Connect) -> None:
    engine.die(1)
    fold(engine)

    assert (
        engine.value("select count(*) from signalbox.unfolded_clusters() u where u.queue_id = %s", engine.queue_id) == 0
    )
