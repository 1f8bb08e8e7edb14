"""Functions are replaced under running clients, who notice nothing (hazards 23 and 24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection as django_connection

from queues.database.sql_scripts import install
from tests.engine import Engine
from tests.races.sessions import finish, start

Connect = Callable[..., psycopg.Connection[Any]]

HOT_VERBS = ["send", "send_batch", "receive", "ack", "nack", "change_visibility", "change_visibility_batch"]
JOINING_VERBS = ["receive", "ack", "nack", "change_visibility_batch"]


def reinstall(engine: Engine) -> list[str]:
    """Do an upgrade in which every script has changed."""
    engine.connection.execute("update signalbox.sql_script set checksum = ''")
    return install(django_connection)


@pytest.mark.usefixtures("commits")
def test_clients_with_prepared_statements_work_on_through_upgrades(engine: Engine, connect: Connect) -> None:
    client = engine.on(connect())
    client.connection.prepare_threshold = 0
    cycles = 60

    def work() -> int:
        done = 0
        for number in range(cycles):
            client.send(number)
            done += sum(client.ack(client.receive_one()[1]))
        return done

    working = start(work)
    upgrades = [len(reinstall(engine)) for _ in range(3)]

    assert finish(working) == cycles
    assert min(upgrades) > 40


@pytest.mark.usefixtures("commits")
def test_grants_survive_an_upgrade(engine: Engine, observer: psycopg.Connection[Any]) -> None:
    engine.connection.execute("create role clerk")
    try:
        engine.connection.execute("revoke execute on function signalbox.ack from public")
        engine.connection.execute("grant execute on function signalbox.ack to clerk")

        reinstall(engine)

        may = "select has_function_privilege(%s, 'signalbox.ack(text[], jsonb[])', 'execute')"
        assert observer.execute(may, ["clerk"]).fetchone() == (True,)
        assert observer.execute(may, ["public"]).fetchone() == (False,)
    finally:
        engine.connection.execute("grant execute on function signalbox.ack to public")
        engine.connection.execute("drop owned by clerk")
        engine.connection.execute("drop role clerk")


@pytest.mark.usefixtures("commits")
def test_an_upgrade_without_changes_touches_nothing(engine: Engine) -> None:
    assert install(django_connection) == []


@pytest.mark.parametrize("verb", HOT_VERBS)
def test_the_hot_verbs_pin_their_plans(engine: Engine, verb: str) -> None:
    """A LIMIT parameter would be planned at every call, and PostgreSQL 15 to 17 would compile disabled parts."""
    settings = engine.value("select proconfig from pg_proc where oid = %s::regproc", f"signalbox.{verb}")

    assert {"plan_cache_mode=force_generic_plan", "enable_seqscan=off", "jit=off"} <= set(settings)
    if verb in JOINING_VERBS:
        assert {"enable_hashjoin=off", "enable_mergejoin=off"} <= set(settings)


def test_no_function_leaves_a_setting_behind(engine: Engine, connect: Connect) -> None:
    session = engine.on(connect())
    names = ["plan_cache_mode", "enable_seqscan", "enable_hashjoin", "enable_mergejoin", "lock_timeout", "jit"]
    before = [session.value("select current_setting(%s)", name) for name in names]
    with session.connection.transaction():
        session.send("x")
        session.nack(session.receive_one()[1], reason="rejected")
        session.value("select signalbox.ensure_partitions()")
        session.value("select signalbox.empty_deltas()")

    assert [session.value("select current_setting(%s)", name) for name in names] == before
