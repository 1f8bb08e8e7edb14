"""Meaning of the exported metrics."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg.types.json import Jsonb

from metrics.names import METRICS
from metrics.reading.fleet import read_fleet
from queues.models import Queue, Tenant
from tests.engine import Engine
from tests.metrics.exposition import Exposition
from tests.metrics.series import SERIES
from tests.streams import make_log

Scrape = Callable[[], Exposition]


def test_every_declared_metric_is_exported_and_no_other(scrape: Scrape) -> None:
    exposition = scrape()

    assert exposition.types == {metric.name: metric.type for metric in METRICS}
    assert exposition.helps == {metric.name: metric.help for metric in METRICS}


def test_every_series_has_exactly_the_declared_labels(engine: Engine, scrape: Scrape) -> None:
    engine.die()
    for name, labels in scrape().samples:
        assert {label for label, _ in labels} == set(SERIES[name])


def test_messages_are_counted_by_state(engine: Engine, scrape: Scrape) -> None:
    for _ in range(3):
        engine.send()
    engine.send(delay_seconds=60)
    engine.receive(2)

    messages = scrape().series("queue_messages", queue=engine.queue)

    assert {dict(labels)["state"]: count for labels, count in messages.items()} == {
        "ready": 1,
        "scheduled": 1,
        "waiting": 0,
        "leased": 2,
    }


def test_a_dead_letter_is_counted_once_where_it_is_held(engine: Engine, scrape: Scrape) -> None:
    engine.die()
    exposition = scrape()

    assert exposition.value("queue_messages", queue=f"{engine.queue}-dlq", state="dead") == 1
    for queue in (engine.queue, f"{engine.queue}-dlq"):
        states = exposition.series("queue_messages", queue=queue)
        assert sum(states.values()) == (1 if queue.endswith("-dlq") else 0)


def test_deaths_are_counted_by_reason_at_the_queue_they_happened_in(make_engine: Any, scrape: Scrape) -> None:
    engine = make_engine(max_receives=1)
    engine.die()
    for _ in range(2):
        engine.send()
        engine.nack(engine.receive_one()[1])
    engine.send()
    engine.receive_one(visibility_timeout=0)
    engine.receive(1)

    deaths = scrape().series("dead_lettered_total", queue=engine.queue)

    by_reason = {dict(labels)["reason"]: count for labels, count in deaths.items()}
    assert by_reason == {"rejected": 1, "runtime_error": 2, "lock_expired": 1}


def test_events_are_counted(make_engine: Any, scrape: Scrape) -> None:
    engine = make_engine(backoff_base_seconds=0)
    engine.send(deduplication_id="once")
    engine.send(deduplication_id="once")
    engine.nack(engine.receive_one()[1])
    engine.receive_one(visibility_timeout=0)
    engine.ack(engine.receive_one()[1])
    engine.send()
    engine.value("select signalbox.purge(%s)", engine.queue)
    engine.die()
    engine.rows(
        "select * from signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter "
        "where source_queue_id = %s))",
        engine.queue_id,
    )
    exposition = scrape()

    counted = {
        event: exposition.value(f"messages_{event}_total", queue=engine.queue)
        for event in (
            "published",
            "deduplicated",
            "delivered",
            "redelivered",
            "nacked",
            "lease_expired",
            "acked",
            "purged",
        )
    }
    assert counted == {
        "published": 3,
        "deduplicated": 1,
        "delivered": 4,
        "redelivered": 2,
        "nacked": 2,
        "lease_expired": 1,
        "acked": 1,
        "purged": 1,
    }
    assert exposition.value("messages_redriven_total", queue=engine.queue) == 1


def test_what_expired_is_counted(make_engine: Any, scrape: Scrape) -> None:
    engine = make_engine(retention_seconds=60)
    engine.send()
    engine.value(
        "update signalbox.ready set ready_at = ready_at - interval '1 hour' where queue_id = %s returning 1",
        engine.queue_id,
    )
    engine.value("select signalbox.expire_messages()")

    assert scrape().value("messages_expired_total", queue=engine.queue) == 1


def test_added_less_removed_is_what_the_queue_holds(make_engine: Any, scrape: Scrape) -> None:
    engine = make_engine(backoff_base_seconds=0)
    for _ in range(6):
        engine.send()
    engine.send(delay_seconds=60)
    leased = engine.receive(4)
    engine.ack(leased[0][1])
    engine.nack(leased[1][1], reason="rejected")
    engine.nack(leased[2][1])
    engine.value("select signalbox.purge(%s, max_messages => 1)", engine.queue)
    engine.rows(
        "select * from signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter "
        "where source_queue_id = %s))",
        engine.queue_id,
    )
    exposition = scrape()

    added = exposition.value("queue_messages_added_total", queue=engine.queue)
    removed = exposition.value("queue_messages_removed_total", queue=engine.queue)
    assert (added, removed) == (8, 3)
    assert added - removed == sum(exposition.series("queue_messages", queue=engine.queue).values())


def test_the_oldest_age_is_that_of_what_can_be_received_now(engine: Engine, scrape: Scrape) -> None:
    engine.send(delay_seconds=60)
    assert scrape().value("queue_oldest_visible_age_seconds", queue=engine.queue) == 0

    engine.send()
    engine.value(
        "update signalbox.ready set ready_at = ready_at - interval '1 hour' where queue_id = %s returning 1",
        engine.queue_id,
    )

    assert 3600 <= scrape().value("queue_oldest_visible_age_seconds", queue=engine.queue) < 3700


def test_consumers_are_those_seen_within_a_minute(engine: Engine, scrape: Scrape) -> None:
    engine.receive(consumer="present")
    engine.receive(consumer="gone")
    engine.value(
        "update signalbox.consumer set last_seen_at = now() - interval '61 seconds'"
        " where queue_id = %s and consumer = 'gone' returning 1",
        engine.queue_id,
    )

    assert scrape().value("queue_consumers", queue=engine.queue) == 1


def test_settings_are_data(make_engine: Any, scrape: Scrape) -> None:
    engine = make_engine(
        alert_oldest_age_seconds=42, retention_seconds=3600, visibility_timeout_seconds=7, dead_letter_queue="scene"
    )
    engine.value("select signalbox.configure_queue('scene', '{\"alert_dead_letters\": 9}')")
    exposition = scrape()

    assert exposition.value("queue_alert_threshold", queue=engine.queue, check="oldest_age_seconds") == 42
    assert exposition.value("queue_alert_threshold", queue="scene", check="dead_letters") == 9
    assert exposition.value("queue_retention_seconds", queue=engine.queue) == 3600
    assert exposition.value("queue_visibility_timeout_seconds", queue=engine.queue) == 7
    assert exposition.value("queue_info", queue=engine.queue, dead_letter_queue="scene", mode="standard") == 1
    assert exposition.value("queue_info", queue="scene", is_dead_letter_queue="true") == 1


def test_queue_info_names_the_dead_letter_queue_that_there_is(engine: Engine, scrape: Scrape) -> None:
    assert scrape().value("queue_info", queue=engine.queue, dead_letter_queue=f"{engine.queue}-dlq") == 1
    engine.connection.execute("insert into signalbox.tenant (name) values ('squatter') on conflict do nothing")
    engine.connection.execute(
        "insert into signalbox.queue (name, tenant_id)"
        " select %s, tenant_id from signalbox.tenant where name = 'squatter'",
        [f"{engine.queue}-dlq"],
    )
    name = engine.value("select signalbox.dead_letter_queue_name(%s)", engine.queue_id)
    assert scrape().value("queue_info", queue=engine.queue, dead_letter_queue=name) == 1
    engine.die()
    assert scrape().value("queue_info", queue=engine.queue, dead_letter_queue=name) == 1
    assert scrape().value("queue_info", queue=name, dead_letter_queue=name) == 1


def test_every_queue_has_the_threshold_of_every_alert_that_reads_its_numbers(engine: Engine, scrape: Scrape) -> None:
    engine.die()
    exposition = scrape()
    checks = {"queue_oldest_visible_age_seconds": "oldest_age_seconds", "queue_messages": "dead_letters"}

    for name, check in checks.items():
        wanted = {"state": "dead"} if name == "queue_messages" else {}
        measured = {_queue(labels) for labels in exposition.series(name, **wanted)}
        assert {_queue(labels) for labels in exposition.series("queue_alert_threshold", check=check)} == measured


def test_a_pause_shows(engine: Engine, scrape: Scrape) -> None:
    assert scrape().value("queue_info", queue=engine.queue, paused="false", closed="false") == 1

    engine.value('select signalbox.configure_queue(%s, \'{"paused": true, "closed": true}\')', engine.queue)

    assert scrape().value("queue_info", queue=engine.queue, paused="true", closed="true") == 1


def test_a_tenant_of_any_name_survives_the_text_format(engine: Engine, scrape: Scrape) -> None:
    hostile = 'a"} 1\nsignalbox_exporter_up 0\\{tenant="x'
    tenant = Tenant.objects.create(name=hostile)
    Queue.objects.filter(name=engine.queue).update(tenant=tenant)
    exposition = scrape()

    assert exposition.value("queue_messages", queue=engine.queue, state="ready", tenant=hostile) == 0
    assert exposition.value("exporter_up") == 1


def test_a_deleted_queue_vanishes(
    make_engine: Any, connect: Callable[..., psycopg.Connection[Any]], scrape: Scrape
) -> None:
    engine = make_engine()
    engine.value("delete from signalbox.queue where queue_id = %s returning 1", engine.queue_id)

    assert not [labels for _, labels in scrape().samples if ("queue", engine.queue) in labels]


def test_a_thousand_queues_take_as_many_queries_as_one(engine: Engine, commits: None) -> None:
    read_fleet()
    with CaptureQueriesContext(connection) as few:
        read_fleet()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select signalbox.create_queue('many-' || n) from generate_series(1, 1000) n")
        with CaptureQueriesContext(connection) as many:
            fleet = read_fleet()
        transaction.set_rollback(True)

    assert len(fleet.queues) > 1000
    assert len(many) == len(few) == 13, [query["sql"] for query in many]


def _queue(labels: frozenset[tuple[str, str]]) -> str:
    return dict(labels)["queue"]


def test_refusals_are_counted_by_reason_and_stay_counted(
    make_engine: Callable[..., Engine], engine: Engine, scrape: Scrape
) -> None:
    full = make_engine(max_backlog_messages=1, publish_rate_per_second=100)
    full.send()
    for _ in range(2):
        with pytest.raises(psycopg.Error):
            full.send()
    closed = make_engine(closed=True)
    with pytest.raises(psycopg.Error):
        closed.send()
    laned = make_engine(mode="fifo", group_max_waiting=1)
    laned.send()
    with pytest.raises(psycopg.Error):
        laned.send()
    exposition = scrape()

    assert exposition.value("publish_rejected_total", queue=laned.queue, reason="lane") == 1
    refused = exposition.series("publish_rejected_total", queue=full.queue)
    assert {dict(labels)["reason"]: count for labels, count in refused.items()} == {"backlog": 2, "rate": 0}
    assert exposition.value("publish_rejected_total", queue=closed.queue, reason="closed") == 1
    assert exposition.series("publish_rejected_total", queue=engine.queue) == {}


def test_what_a_tenant_is_refused_that_is_no_send_is_counted_by_reason(
    connect: Callable[..., psycopg.Connection[Any]], dsn: str, scrape: Scrape
) -> None:
    tenant, connection = f"tenant-{uuid.uuid4().hex[:8]}", connect()
    connection.execute("insert into signalbox.tenant (name, max_queues) values (%s, 1)", [tenant])
    connection.execute(
        "update signalbox.tenant set max_retention_seconds = 60, max_long_polls = 1 where name = %s", [tenant]
    )
    connection.execute("select signalbox.create_queue(%s, '{}', %s)", [f"{tenant}-one", tenant])
    with psycopg.connect(dsn, autocommit=True) as waiting:
        waiting.execute("select signalbox.begin_long_poll(%s)", [f"{tenant}-one"])
        for statement, value in (
            ("select signalbox.begin_long_poll(%s)", f"{tenant}-one"),
            ("select signalbox.configure_queue(%s, '{\"retention_seconds\": 61}')", f"{tenant}-one"),
            ("select signalbox.create_queue(%s, '{}', '" + tenant + "')", f"{tenant}-two"),
            ("select signalbox.create_queue(%s, '{}', '" + tenant + "')", f"{tenant}-three"),
        ):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(statement, [value])
            assert refused.value.sqlstate == "SB429"

    refusals = scrape().series("tenant_refused_total", tenant=tenant)

    assert {dict(labels)["reason"]: count for labels, count in refusals.items()} == {
        "queues": 2,
        "retention": 1,
        "long_polls": 1,
    }


def test_bytes_are_exported_where_they_are_limited(
    make_engine: Callable[..., Engine], engine: Engine, scrape: Scrape
) -> None:
    weighed = make_engine(max_backlog_bytes=1000)
    weighed.send("12345678")
    weighed.send("12345678")
    exposition = scrape()

    assert exposition.value("queue_bytes", queue=weighed.queue) == 20
    assert exposition.series("queue_bytes", queue=engine.queue) == {}


def test_a_group_of_a_stream_has_its_lag(engine: Engine, scrape: Scrape) -> None:
    log = make_log(engine.connection, partitions=2, alert_group_lag_seconds=42)
    log.group()
    for n in range(4):
        log.append(n)
    log.commit(log.read(most=1)[0])
    for ids in (["a"], ["a"], ["a", "b", "b"]):
        log.rows("select signalbox.append_batch_deduplicated(%s, %s, %s)", log.name, [Jsonb(1)] * len(ids), ids)
    exposition = scrape()
    of_group = {"tenant": "default", "stream": log.name, "group": "g"}

    assert exposition.value("group_lag_messages", **of_group) == 5
    assert exposition.value("group_lag_seconds", **of_group) > 0
    assert exposition.value("group_members", **of_group) == 1
    assert exposition.value("group_committed_offset", **of_group) == 1
    assert exposition.value("group_lost_messages", **of_group) == 0
    assert exposition.value("group_lag_threshold_seconds", **of_group) == 42
    assert exposition.value("stream_messages_appended_total", tenant="default", stream=log.name) == 6
    assert exposition.value("stream_appends_deduplicated_total", tenant="default", stream=log.name) == 3
