"""Maintenance and quotas of streams: as of queues, and nothing more for streams that they do not concern."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from queues.control import maintenance, quotas
from tests.maintained import Begin, begin
from tests.streams import Log, make_log

__all__ = ["begin"]

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=1)
    made.group()
    return made


def test_maintenance_holds_reads_and_refuses_appends(log: Log, begin: Begin) -> None:
    log.append("before")
    (read,) = log.read()
    begin()

    assert log.read() == []
    log.append("during")
    assert log.commit(read)

    begin(refuses_sends=True)
    with pytest.raises(psycopg.Error) as refused:
        log.append("refused")
    assert refused.value.sqlstate == "SB503"
    maintenance.end(actor="ada")
    log.append("after")
    assert [row[3] for row in log.read()] == ["during", "after"]
    assert log.value("select admission_flags from signalbox.stream where name = %s", log.name) == 0


def test_appends_take_from_the_rate_of_the_tenant(log: Log, commits: None) -> None:
    tenant = f"{log.name}-tenant"
    name = f"{log.name}-limited"
    log.value("select signalbox.create_stream(%s, '{}', %s)", name, tenant)
    quotas.set_quota(tenant, {"publish_rate_per_second": 3}, actor="ada")

    for _ in range(3):
        log.value("select partition from signalbox.append(%s, '1')", name)
    with pytest.raises(psycopg.Error) as refused:
        log.value("select partition from signalbox.append(%s, '1')", name)

    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB429", "publish_rate_per_second")
    facts = json.loads(refused.value.diag.message_detail or "")
    assert (facts["reason"], facts["scope"], facts["limit"]) == ("rate", "tenant", 3)
    assert 0 < facts["retry_after"] <= 1
    with pytest.raises(psycopg.Error) as never:
        log.rows("select * from signalbox.append_batch(%s, array_fill('1'::jsonb, array[4]))", name)
    assert json.loads(never.value.diag.message_detail or "")["retry_after"] is None
    quotas.set_quota(tenant, {"publish_rate_per_second": 0}, actor="ada")
    log.value("select partition from signalbox.append(%s, '1')", name)


def test_a_stream_keeps_no_longer_than_its_tenant_may(log: Log, commits: None) -> None:
    tenant = f"{log.name}-tenant"
    log.value("select signalbox.create_stream(%s, '{}', %s)", f"{log.name}-1", tenant)
    quotas.set_quota(tenant, {"max_retention_seconds": 7200}, actor="ada")
    log.value("select signalbox.create_stream(%s, '{}', %s)", f"{log.name}-2", tenant)

    kept = "select retention_seconds from signalbox.stream where name = %s"
    assert [log.value(kept, f"{log.name}-{n}") for n in (1, 2)] == [604800, 7200]
    with pytest.raises(psycopg.Error) as refused:
        log.value("select signalbox.configure_stream(%s, '{\"retention_seconds\": 9000}')", f"{log.name}-2")
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB429", "max_retention_seconds")


NOISE = "(select to_jsonb(string_agg(md5(random()::text), '')) from generate_series(1, 4000))"
"""Some 128 KB that do not compress."""


def test_appends_take_from_the_bytes_of_the_tenant(log: Log, commits: None) -> None:
    tenant, name = f"{log.name}-tenant", f"{log.name}-limited"
    stream_id = log.value("select signalbox.create_stream(%s, '{\"partitions\": 1}', %s)", name, tenant)
    quotas.set_quota(tenant, {"max_stream_bytes": 1_000_000}, actor="ada")
    append = f"select partition from signalbox.append(%s, {NOISE})"
    batch = f"select count(*) from signalbox.append_batch(%s, array[{NOISE}, {NOISE}, {NOISE}, {NOISE}])"

    for _ in range(5):
        log.value(append, name)
    with pytest.raises(psycopg.Error) as refused:
        log.value(batch, name)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB429", "max_stream_bytes")
    facts = json.loads(refused.value.diag.message_detail or "")
    assert (facts["reason"], facts["scope"], facts["retry_after"]) == ("stream_bytes", "tenant", 60)
    assert facts["actual"] > 1_000_000
    assert log.value(f"select count(*) from signalbox.stream_message_{stream_id}") == 5
    (use,) = [use for use in quotas.read_use() if use.tenant.name == tenant]
    assert (use.stream_bytes or 0) > 600_000

    log.connection.execute(f"truncate signalbox.stream_message_{stream_id}".encode())
    log.value("select setval(measured, 1) from signalbox.stream_bytes_counter order by tenant_id desc limit 1")
    log.value(append, name)
    quotas.set_quota(tenant, {"max_stream_bytes": 1}, actor="ada")
    with pytest.raises(psycopg.Error) as never:
        log.value(append, name)
    assert json.loads(never.value.diag.message_detail or "")["retry_after"] is None
    counted = "select pg_sequence_last_value(counter) from signalbox.tenant_refusal r join signalbox.tenant t"
    assert log.value(f"{counted} using (tenant_id) where t.name = %s and r.reason = 'stream_bytes'", tenant) == 2
    quotas.set_quota(tenant, {"max_stream_bytes": 0}, actor="ada")
    log.value(append, name)
