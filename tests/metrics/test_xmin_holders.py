"""Sessions that keep PostgreSQL from removing dead rows are found and named; working sessions are not."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from pytest_django.fixtures import Settings

from metrics.reading.xmin_holders import (
    BACKEND,
    CATALOG_SLOT,
    HIDDEN_BACKEND,
    KINDS,
    PREPARED_TRANSACTION,
    REPLICATION_SLOT,
    STANDBY,
    Holder,
    oldest,
    read_holders,
)
from tests.engine import Engine
from tests.metrics.exposition import Exposition
from tests.metrics.holders import forgotten_session, prepared_transaction, slot, standby
from tests.races.sessions import until

Connect = Callable[..., psycopg.Connection[Any]]
Scrape = Callable[[], Exposition]

pytestmark = pytest.mark.usefixtures("commits")


@pytest.fixture
def name() -> str:
    """Holders of a slot or transaction of this test only."""
    return f"test_{uuid.uuid4().hex[:8]}"


def found(name: object) -> Holder:
    (holder,) = [holder for holder in read_holders(young_seconds=0) if holder.name == str(name)]
    return holder


def names(young_seconds: float = 0) -> set[str]:
    return {holder.name for holder in read_holders(young_seconds)}


def burn(connect: Connect, count: int) -> None:
    """Give out this many transaction ids."""
    session = connect()
    for _ in range(count):
        session.execute("select pg_current_xact_id()")


@contextmanager
def folds_of(age_seconds: float) -> Iterator[None]:
    """Move every aggregation back by this time."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "update signalbox.aggregation set aggregated_at = clock_timestamp() - make_interval(secs => %s)",
            [age_seconds],
        )
        yield
        transaction.set_rollback(True)


def fold(engine: Engine) -> None:
    engine.send()
    engine.value("select signalbox.aggregate_counters()")


def test_a_session_idle_in_a_transaction_is_named(connect: Connect) -> None:
    session = forgotten_session(connect, application_name="nightly report")
    burn(connect, 3)

    holder = found(session.info.backend_pid)

    assert (holder.kind, holder.application, holder.state) == (BACKEND, "nightly report", "idle in transaction")
    assert (holder.user, holder.database) == (session.info.user, session.info.dbname)
    assert holder.query == "select 'forgotten'"
    assert holder.age_transactions >= 3
    assert holder.age_seconds is not None
    assert holder.started_at is not None
    assert holder.query_started_at is not None


def test_a_writer_holds_its_own_transaction_id(connect: Connect) -> None:
    writer = connect(autocommit=False)
    writer.execute("select pg_current_xact_id()")

    assert found(writer.info.backend_pid).kind == BACKEND


def test_a_transaction_between_two_statements_holds_nothing(connect: Connect) -> None:
    reader = connect(autocommit=False)
    reader.execute("select 1")

    assert str(reader.info.backend_pid) not in names()


def test_a_prepared_transaction_is_named_by_its_gid(connect: Connect, name: str) -> None:
    gid = f"{name} 'of' \"another\" \\"
    with prepared_transaction(connect, gid):
        burn(connect, 2)

        holder = found(gid)

    assert holder.kind == PREPARED_TRANSACTION
    assert holder.user == connection.settings_dict["USER"]
    assert holder.age_transactions >= 2
    assert holder.age_seconds is not None
    assert gid not in names()


def test_a_slot_left_behind_is_named(connect: Connect, dsn: str, name: str) -> None:
    with slot(connect, dsn, name):
        burn(connect, 2)

        holder = found(name)

    assert (holder.kind, holder.state, holder.slows_queues) == (REPLICATION_SLOT, "inactive", True)
    assert holder.age_transactions >= 2


def test_a_slot_that_keeps_catalogs_alone_slows_no_queue(connect: Connect, dsn: str, name: str) -> None:
    with slot(connect, dsn, name, xmin=False, catalog_xmin=True):
        holder = found(name)

    assert (holder.kind, holder.slows_queues) == (CATALOG_SLOT, False)


def test_a_slot_is_as_old_as_the_folds_that_came_after_it(
    connect: Connect, dsn: str, name: str, engine: Engine
) -> None:
    with slot(connect, dsn, name):
        burn(connect, 1)
        fold(engine)
        with folds_of(age_seconds=300):
            age = found(name).age_seconds

    assert age is not None
    assert 300 <= age < 600


def test_nothing_is_said_of_the_age_of_a_slot_that_no_fold_has_seen(
    connect: Connect, dsn: str, name: str, engine: Engine
) -> None:
    fold(engine)
    burn(connect, 1)
    with slot(connect, dsn, name):
        assert found(name).age_seconds is None
        assert name not in names(young_seconds=300)  # the aggregation before it is young, so it is too
        with folds_of(age_seconds=3000):
            assert name in names(young_seconds=300)


def test_a_standby_without_a_slot_is_named(connect: Connect, dsn: str, name: str) -> None:
    with standby(connect, dsn, name):
        holder = found(name)

    assert (holder.kind, holder.state is not None, holder.pid is not None) == (STANDBY, True, True)


def test_the_oldest_comes_first(connect: Connect, name: str) -> None:
    with prepared_transaction(connect, name):
        burn(connect, 2)
        session = forgotten_session(connect)  # follows the prepared transaction, being younger
        burn(connect, 2)

        order = [holder.name for holder in read_holders(young_seconds=0)]

    assert order.index(name) < order.index(str(session.info.backend_pid))


def test_work_that_has_just_begun_is_left_out(connect: Connect, name: str) -> None:
    upkeep = connect(autocommit=False, application_name="signalbox upkeep chores")
    with prepared_transaction(connect, name):
        upkeep.execute("select signalbox.clean_up(), pg_current_xact_id()")

        assert str(upkeep.info.backend_pid) in names()
        assert str(upkeep.info.backend_pid) not in names(young_seconds=3600)


def test_an_old_transaction_with_a_young_snapshot_is_as_old_as_the_snapshot(connect: Connect, engine: Engine) -> None:
    report = connect(autocommit=False)
    report.execute("select 1")
    fold(engine)
    burn(connect, 1)
    report.execute("declare pages cursor for select 1")
    with folds_of(age_seconds=-3600):  # later than any clock can say by now
        assert found(report.info.backend_pid).age_seconds == 0


def test_vacuum_holds_nothing(connect: Connect, name: str) -> None:
    cleaner, observer = connect(), connect()
    cleaner.execute(f"create table {name} as select n from generate_series(1, 100000) n")
    cleaner.execute("set vacuum_cost_delay = '100ms'; set vacuum_cost_limit = 1")
    pid = cleaner.info.backend_pid
    vacuum = threading.Thread(target=_run_until_cancelled, args=[cleaner, f"vacuum {name}"])
    vacuum.start()
    try:
        progress = "select from pg_stat_progress_vacuum where pid = %s"
        until(lambda: observer.execute(progress, [pid]).fetchone() is not None, "a vacuum at work")
        assert str(pid) not in names()
        assert observer.execute(progress, [pid]).fetchone() is not None  # it was at work all the while
    finally:
        observer.execute("select pg_cancel_backend(%s)", [pid])
        vacuum.join()
        cleaner.execute(f"drop table {name}")


def _run_until_cancelled(session: psycopg.Connection[Any], statement: str) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled):
        session.execute(statement)


@pytest.fixture
def unprivileged(connect: Connect, name: str) -> Iterator[str]:
    """Django's connection with a role that may read the engine's tables, but no statistics of other roles."""
    owner = connect()
    owner.execute(f"create role {name}")
    owner.execute(f"grant usage on schema signalbox to {name}; grant select on signalbox.aggregation to {name}")
    with connection.cursor() as cursor:
        cursor.execute(f"set role {name}")
        yield name
        cursor.execute("reset role")
    owner.execute(f"drop owned by {name}; drop role {name}")


def test_what_a_role_may_not_see_is_unknown_and_not_wrong(connect: Connect, unprivileged: str) -> None:
    session = forgotten_session(connect, application_name="nightly report")
    burn(connect, 3)

    holder = found(session.info.backend_pid)

    assert (holder.kind, holder.reader, holder.user) == (HIDDEN_BACKEND, unprivileged, session.info.user)
    assert holder.age_transactions >= 3
    assert (holder.started_at, holder.query_started_at, holder.query, holder.state) == (None, None, None, None)


def test_what_is_hidden_is_as_old_as_the_folds_that_came_after_it(connect: Connect, dsn: str, engine: Engine) -> None:
    session = forgotten_session(connect)
    burn(connect, 1)
    fold(engine)
    with folds_of(age_seconds=300), connection.cursor() as cursor:
        cursor.execute("create role hidden_from")
        cursor.execute(
            "grant usage on schema signalbox to hidden_from; grant select on signalbox.aggregation to hidden_from"
        )
        cursor.execute("set local role hidden_from")
        holder = found(session.info.backend_pid)

    assert holder.kind == HIDDEN_BACKEND
    assert holder.age_seconds is not None
    assert holder.age_seconds >= 300


def test_a_member_of_the_role_that_holds_sees_it(connect: Connect, unprivileged: str) -> None:
    session = forgotten_session(connect)
    connect().execute(f"grant pg_read_all_stats to {unprivileged}")

    assert found(session.info.backend_pid).kind == BACKEND


def a_holder(kind: str, transactions: int, seconds: float | None) -> Holder:
    nothing: list[None] = [None] * 9
    return Holder(kind, f"{kind} {transactions}", transactions, seconds, *nothing, reader="me")


def test_old_is_what_the_setting_says(settings: Settings) -> None:
    settings.OLD_SNAPSHOT_SECONDS = 10

    assert a_holder(BACKEND, 1, 10.0).is_old
    assert not a_holder(BACKEND, 1, 9.9).is_old
    assert not a_holder(REPLICATION_SLOT, 1_000_000, None).is_old
    assert not a_holder(CATALOG_SLOT, 1, 10.0).is_old


def test_the_oldest_of_a_kind() -> None:
    holders = [a_holder(BACKEND, 5, 7.0), a_holder(BACKEND, 3, 9.0), a_holder(STANDBY, 4, None)]

    assert oldest(holders, BACKEND) == (5, 9.0)
    assert oldest(holders, STANDBY) == (4, None)
    assert oldest(holders, PREPARED_TRANSACTION) == (0, 0.0)


def test_every_kind_is_exported_and_no_name(
    scrape: Scrape, connect: Connect, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.OLD_SNAPSHOT_SECONDS = 42
    session = forgotten_session(connect)
    burn(connect, 3)
    monkeypatch.setattr("metrics.reading.fleet.read_holders", lambda: read_holders(young_seconds=0))

    exposition = scrape()

    for metric in ("pg_oldest_xmin_age_transactions", "pg_oldest_xmin_age_seconds"):
        assert {tuple(labels) for labels in exposition.series(metric)} == {(("holder_kind", kind),) for kind in KINDS}
    assert exposition.value("pg_oldest_xmin_age_transactions", holder_kind="backend") >= 3
    assert exposition.value("pg_oldest_xmin_age_seconds", holder_kind="backend") > 0
    assert exposition.value("pg_oldest_xmin_threshold_seconds") == 42
    assert not [labels for _, labels in exposition.samples if str(session.info.backend_pid) in dict(labels).values()]


def test_an_age_that_is_unknown_is_not_exported(
    scrape: Scrape, connect: Connect, dsn: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slot(connect, dsn, name):
        monkeypatch.setattr("metrics.reading.fleet.read_holders", lambda: read_holders(young_seconds=0))
        exposition = scrape()

    assert exposition.series("pg_oldest_xmin_age_seconds", holder_kind="replication_slot") == {}
    assert exposition.value("pg_oldest_xmin_age_transactions", holder_kind="replication_slot") >= 0
