"""Streams of a tenant with a quota are made one after the other, and none beyond it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from queues.control import quotas
from tests.races.sessions import finish, start, until_waiting
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    return make_log(connect(), partitions=1)


def test_a_tenant_s_streams_are_counted(
    log: Log, connect: Connect, observer: psycopg.Connection[Any], commits: None
) -> None:
    tenant = f"{log.name}-tenant"
    create = "select signalbox.create_stream(%s, '{}', %s)"
    log.value(create, f"{log.name}-1", tenant)
    quotas.set_quota(tenant, {"max_streams": 2}, actor="ada")
    first, second = log.on(connect(autocommit=False)), log.on(connect(autocommit=False))
    first.value(create, f"{log.name}-2", tenant)
    also = start(second.value, create, f"{log.name}-3", tenant)
    until_waiting(observer, second.connection)
    first.connection.commit()

    with pytest.raises(psycopg.Error) as refused:
        finish(also)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB429", "max_streams")
    facts = json.loads(refused.value.diag.message_detail or "")
    assert (facts["reason"], facts["limit"], facts["actual"], facts["retry_after"]) == ("streams", 2, 3, None)
    second.connection.rollback()
    assert log.value(create, f"{log.name}-2", tenant) > 0
    (use,) = [use for use in quotas.read_use() if use.tenant.name == tenant]
    assert (use.streams, use.stream_bytes) == (2, None)


def test_large_bodies_count_towards_the_bytes_of_streams(log: Log, commits: None) -> None:
    tenant, stream = f"{log.name}-large", f"{log.name}-bodies"
    log.value("select signalbox.create_stream(%s, '{}', %s)", stream, tenant)
    quotas.set_quota(tenant, {"max_stream_bytes": 500_000}, actor="ada")
    append = "select * from signalbox.append_batch_large(%s, array['null']::jsonb[], array[%s]::bytea[])"
    bodies = [os.urandom(32) for _ in range(2)]
    for body in bodies:
        log.value("select signalbox.claim_body(%s, 300000)", body)
    log.rows(append, stream, bodies[0])

    with pytest.raises(psycopg.Error) as refused:
        log.rows(append, stream, bodies[1])
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB429", "max_stream_bytes")
    (use,) = [use for use in quotas.read_use() if use.tenant.name == tenant]
    assert 300_000 <= (use.stream_bytes or 0) < 500_000
