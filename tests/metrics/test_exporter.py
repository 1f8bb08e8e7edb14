"""Histograms, totals, the cap on series, and replicas that take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from pytest_django.fixtures import Settings

from metrics.exposition.pages import render_queues
from metrics.reading.fleet import Fleet, read_fleet
from metrics.reading.snapshot import LOCK, RECENT_SECONDS, TURN_SECONDS, Snapshot, turn
from queues.counters.durations import BOUNDS, read_durations
from tests.engine import Engine
from tests.metrics.conftest import PATIENCE_SECONDS
from tests.metrics.exposition import Exposition
from tests.races.sessions import until

Connect = Callable[..., psycopg.Connection[Any]]
Scrape = Callable[[], Exposition]


def wait_for(engine: Engine, *seconds: float) -> None:
    """One message for each, delivered after it has been visible for so long."""
    for wait in seconds:
        engine.send("x")
        engine.rows(
            "update signalbox.ready set ready_at = clock_timestamp() - %s * interval '1 second'"
            " where queue_id = %s returning 1",
            wait,
            engine.queue_id,
        )
        engine.receive_one(visibility_timeout=3600)
    engine.value("select signalbox.aggregate_counters()")


@pytest.mark.usefixtures("commits")
def test_histograms_are_cumulative_and_equal_the_engines_buckets(engine: Engine, scrape: Scrape) -> None:
    wait_for(engine, 100, 100, 2000, 200_000)
    exposition = scrape()

    def bucket(le: str) -> float:
        return exposition.value("wait_seconds_bucket", queue=engine.queue, le=le)

    assert [bucket(le) for le in ("60", "300", "900", "3600", "21600", "86400", "+Inf")] == [0, 2, 2, 3, 3, 3, 4]
    assert exposition.value("wait_seconds_count", queue=engine.queue) == 4
    assert exposition.value("wait_seconds_sum", queue=engine.queue) == pytest.approx(202_200, rel=0.01)
    assert len(exposition.series("wait_seconds_bucket", queue=engine.queue)) == len(BOUNDS) + 1
    waits = read_durations([engine.queue_id])[engine.queue_id].waits
    assert sorted(exposition.series("wait_seconds_bucket", queue=engine.queue).values()) == waits.cumulative()


def test_work_is_exported_as_it_was_acknowledged(engine: Engine, scrape: Scrape) -> None:
    engine.send("x")
    handle = engine.receive_one(visibility_timeout=3600)[1]
    engine.rows(
        "update signalbox.lease set leased_at = leased_at - interval '400 seconds' where queue_id = %s returning 1",
        engine.queue_id,
    )
    engine.ack(handle)
    engine.value("select signalbox.aggregate_counters()")
    exposition = scrape()

    assert exposition.value("work_seconds_bucket", queue=engine.queue, le="300") == 0
    assert exposition.value("work_seconds_bucket", queue=engine.queue, le="900") == 1
    assert exposition.value("work_seconds_sum", queue=engine.queue) == pytest.approx(400, abs=200)


def test_a_service_level_never_falls_when_its_target_changes(
    make_engine: Callable[..., Engine], scrape: Scrape
) -> None:
    engine = make_engine(wait_target_seconds=300, wait_target_ratio=0.9)

    def met_and_missed() -> tuple[float, float]:
        exposition = scrape()
        met, missed = (exposition.value("first_receives_total", queue=engine.queue, slo=s) for s in ("met", "missed"))
        return met, missed

    wait_for(engine, 100, 2000)
    assert met_and_missed() == (1, 1)
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"wait_target_seconds": 3600}))
    assert met_and_missed() == (1, 1)
    wait_for(engine, 2000)

    assert met_and_missed() == (2, 1)
    assert scrape().value("queue_slo_target_ratio", queue=engine.queue) == 0.9
    assert scrape().value("queue_wait_target_seconds", queue=engine.queue) == 3600


def test_leases_are_seen_from_the_head_of_their_index(engine: Engine, scrape: Scrape) -> None:
    assert scrape().value("queue_oldest_lease_age_seconds", queue=engine.queue) == 0
    for _ in range(3):
        engine.send("x")
    engine.receive(3, visibility_timeout=3600)
    engine.rows(
        "update signalbox.lease set leased_at = leased_at - interval '1000 seconds' where queue_id = %s returning 1",
        engine.queue_id,
    )
    assert 1000 <= scrape().value("queue_oldest_lease_age_seconds", queue=engine.queue) < 1500
    engine.rows(
        "update signalbox.lease set leased_at = leased_at - interval '5000 s', deadline = deadline + interval '1 s'"
        " where message_id in (select message_id from signalbox.lease where queue_id = %s limit 1) returning 1",
        engine.queue_id,
    )
    assert 6000 <= scrape().value("queue_oldest_lease_age_seconds", queue=engine.queue) < 6500  # one that was extended
    assert scrape().value("queue_expired_leases", queue=engine.queue) == 0

    engine.rows(
        "update signalbox.lease set deadline = clock_timestamp() - interval '1 second'"
        " where message_id in (select message_id from signalbox.lease where queue_id = %s limit 2) returning 1",
        engine.queue_id,
    )
    assert scrape().value("queue_expired_leases", queue=engine.queue) == 2


def test_expired_leases_are_counted_up_to_a_thousand(engine: Engine, scrape: Scrape) -> None:
    engine.rows(
        "insert into signalbox.lease (message_id, queue_id, receive_count, priority, deadline, leased_at, nonce)"
        " select -n - %s * 10000, %s, 1, 0, now(), now(), gen_random_uuid() from generate_series(1, 1001) n"
        " returning 1",
        engine.queue_id,
        engine.queue_id,
    )

    assert scrape().value("queue_expired_leases", queue=engine.queue) == 1000
    engine.rows("delete from signalbox.lease where queue_id = %s returning 1", engine.queue_id)


def test_tenants_have_what_their_queues_have_together(make_engine: Callable[..., Engine], scrape: Scrape) -> None:
    engine = make_engine()
    tenant = f"tenant of {engine.queue}"
    queues = []
    for name in ("one", "two"):
        queue = f"{engine.queue}-{name}"
        queue_id = engine.value("select signalbox.create_queue(%s, '{}', %s)", queue, tenant)
        queues.append(Engine(engine.connection, queue, queue_id))
    for queue in queues:
        queue.die()
        queue.send()
    engine.value("select signalbox.aggregate_counters()")
    exposition = scrape()

    def of(name: str, **labels: str) -> float:
        return exposition.value(f"tenant_{name}", tenant=tenant, **labels)

    assert (of("queues"), of("messages", state="ready"), of("messages", state="dead")) == (4, 2, 2)
    assert (of("messages_added_total"), of("messages_removed_total"), of("dead_lettered_total")) == (6, 2, 2)
    assert (of("first_receives_total", slo="met") + of("first_receives_total", slo="missed")) == 2
    for name in ("messages_added_total", "dead_lettered_total", "queues"):
        assert exposition.value(f"fleet_{name}") == sum(exposition.series(f"tenant_{name}").values())


def test_the_age_of_the_archives_horizon_counts_while_history_waits(engine: Engine, scrape: Scrape) -> None:
    engine.connection.execute(
        "insert into signalbox.archive_horizon (below, moved_at) values (0, clock_timestamp() - interval '1 hour')"
    )
    try:
        assert scrape().value("archive_horizon_age_seconds") >= 3600
        engine.connection.execute("update signalbox.archive_horizon set holds = false")
        assert scrape().value("archive_horizon_age_seconds") == 0
    finally:
        engine.connection.execute("delete from signalbox.archive_horizon")


def test_what_is_in_the_trash_is_counted_by_removal(engine: Engine, scrape: Scrape) -> None:
    before = scrape().value("trash_messages")
    removal = engine.value("select signalbox.open_trash_batch(36000)")
    for _ in range(3):
        engine.send("x")
    engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal)
    exposition = scrape()

    assert exposition.value("trash_messages") == before + 3
    assert 0 <= exposition.value("trash_seconds_left") <= 36000  # 0 where an older removal is over


def test_the_servers_health_is_exported(engine: Engine, scrape: Scrape) -> None:
    exposition = scrape()

    assert exposition.value("pg_database_bytes") > 1_000_000
    assert 0 <= exposition.value("pg_notify_queue_usage_ratio") <= 1
    assert exposition.value("pg_replication_lag_seconds") == 0
    assert exposition.value("shard_epoch") == engine.value("select timeline_id from pg_control_checkpoint()")
    tables = {dict(labels)["table"]: ratio for labels, ratio in exposition.series("pg_dead_tuple_ratio").items()}
    assert {"ready", "lease", "queue_stat"} <= tables.keys()
    assert all(0 <= ratio <= 1 for ratio in tables.values())


@pytest.mark.usefixtures("commits")
def test_above_the_cap_the_youngest_queues_have_no_series(
    make_engine: Callable[..., Engine], settings: Settings
) -> None:
    engines = [make_engine() for _ in range(4)]
    fleet = read_fleet()
    ours = [numbers for numbers in fleet.queues if numbers.name in {engine.queue for engine in engines}]
    series = len([line for line in render_queues(fleet, only=ours[:1])[0].splitlines() if b"queue=" in line])
    settings.METRICS_MAX_SERIES = series * 3 - 1

    for _ in range(2):  # the same ones each time
        page, omitted = render_queues(fleet, only=ours)
        exposition = Exposition.parse(page)
        shown = {dict(labels)["queue"] for labels in exposition.series("queue_messages")}
        assert shown == {engine.queue for engine in engines[:2]}
        assert omitted == exposition.value("exporter_queues_omitted") == 2


@pytest.mark.usefixtures("commits")
def test_one_replica_reads_at_a_time(connect: Connect) -> None:
    """The replica serves its old numbers during another's turn, and refreshes afterwards."""
    now = [1000.0]
    snapshot = Snapshot(clock=lambda: now[0], wait_seconds=PATIENCE_SECONDS)
    first = snapshot.current().answers()
    other = connect()
    other.execute("begin")
    assert other.execute("select pg_try_advisory_xact_lock(hashtext(%s), 0)", [LOCK]).fetchone() == (True,)
    waited = threading.Event()
    readings: list[bool] = []

    def read() -> Fleet:
        with turn(clock=lambda: 0.0, pause=lambda _: waited.set()) as taken:
            readings.append(taken)
            return read_fleet()

    snapshot._read = read
    now[0] += RECENT_SECONDS
    assert snapshot.current().answers() is first
    assert waited.wait(PATIENCE_SECONDS)
    assert readings == []

    other.execute("commit")
    until(lambda: readings, "this one's turn")
    snapshot.rest()
    assert readings == [True]
    assert snapshot._last.pages is not first


@pytest.mark.usefixtures("commits")
def test_a_replica_stuck_in_its_turn_blocks_no_scrape(connect: Connect) -> None:
    other = connect()
    other.execute("begin")
    other.execute("select pg_advisory_xact_lock(hashtext(%s), 0)", [LOCK])
    seconds = iter((0.0, 1.0, TURN_SECONDS))

    with turn(clock=lambda: next(seconds), pause=lambda _: None) as taken:
        assert taken is False
        assert read_fleet().queues is not None
    other.execute("rollback")

    with turn() as taken:
        assert taken is True
