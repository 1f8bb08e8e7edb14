"""An upgrade goes on beside processes of the version before, and can be taken back: nothing they call may fail."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from queues.database import sql_scripts
from tests.proof.upgrade.record import released_migrations

pytestmark = pytest.mark.timeout(180)


def value(statement: str, *parameters: object) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
        return row[0] if row else None


def test_a_fold_of_the_version_before_can_be_installed_and_run(db: None) -> None:
    """The old version made `_unfolded` with three columns: a replacement with more columns would be refused."""
    with connection.cursor() as cursor:
        cursor.execute(
            "create or replace function signalbox._unfolded(p_xmin bigint, p_xmax bigint, p_xip bigint[])"
            " returns table (queue_id integer, event smallint, amount bigint) language sql stable as"
            " $$ select 1, 1::smallint, 1::bigint $$"
        )

    assert value("select amount from signalbox._unfolded(1, 1, '{}')") == 1


def test_taken_back_messages_still_come_and_go(db: None) -> None:
    """Today's functions stay until those of the release before are installed, which may be minutes later.

    The migrations since that release are taken back; without any release, those since the first migrations.
    """
    executor = MigrationExecutor(connection)
    executor.migrate([("queues", released_migrations()["queues"])])
    sql_scripts.install(connection)
    value("select signalbox.create_queue('taken-back')")
    value("select signalbox.send('taken-back', '{}')")
    handle = value("select receipt_handle from signalbox.receive('taken-back')")

    assert value("select (signalbox.ack(%s::text[])).acked", [handle])

    connection.check_constraints()  # or what is deferred to the commit keeps tables from being altered
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    sql_scripts.install(connection)
    value("select signalbox.send('taken-back', '{}')")
    assert value("select count(*) from signalbox.receive('taken-back')") == 1
    assert value("select signalbox.record_history()") is not None
