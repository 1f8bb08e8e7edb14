"""Tenants with a limit on long polls, whose use shows from outside which requests wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine import Engine

Limit = Callable[[int], Engine]


@pytest.fixture
def limited(make_engine: Callable[..., Engine]) -> Limit:
    """Queue whose tenant has a limit on long polls."""

    def make(most: int) -> Engine:
        engine = make_engine()
        tenant = f"tenant-of-{engine.queue}"
        engine.connection.execute("insert into signalbox.tenant (name, max_long_polls) values (%s, %s)", [tenant, most])
        engine.connection.execute(
            "update signalbox.queue set tenant_id = (select tenant_id from signalbox.tenant where name = %s)"
            " where queue_id = %s",
            [tenant, engine.queue_id],
        )
        return engine

    return make


@pytest.fixture
def places_of() -> Callable[[Engine], int]:
    """Number of waiting polls of the queue's tenant, in all processes."""

    def count(engine: Engine) -> int:
        statement = "select signalbox.long_polls(tenant_id) from signalbox.queue where queue_id = %s"
        return int(engine.value(statement, engine.queue_id))

    return count
