"""The publication for readers of change data: three tables, inserts only, made once, by the owner."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "run" / "change-data.md").read_text()
pytestmark = pytest.mark.usefixtures("django_db_setup")


@pytest.fixture
def connection(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection whose transaction is rolled back."""
    with psycopg.connect(dsn) as connection:
        yield connection
        connection.rollback()


def test_it_publishes_inserts_of_three_tables_once(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    for _ in range(2):
        assert connection.execute("select signalbox.publish()").fetchone() == ("signalbox_events",)

    published = connection.execute(
        "select tablename from pg_publication_tables where pubname = 'signalbox_events' order by 1"
    ).fetchall()
    kinds = connection.execute(
        "select pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot from pg_publication"
        " where pubname = 'signalbox_events'"
    ).fetchall()
    (audited,) = connection.execute(
        "select count(*) from signalbox.audit_event where action = 'publication.create' and xmin::text::bigint ="
        " pg_current_xact_id()::text::bigint"
    ).fetchone()
    assert published == [("dead_letter",), ("message",), ("settled",)]
    assert kinds == [(True, False, False, False, True)]
    assert audited == 1


@pytest.mark.parametrize("name", ["", "With Space", 'x"; drop table signalbox.queue; --', "1st", "a" * 64])
def test_a_name_that_is_none_is_refused(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    with pytest.raises(psycopg.Error, match="it must have 1 to 63 lower-case letters"):
        connection.execute("select signalbox.publish(%s)", [name])


def test_a_publication_of_others_is_left_alone(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("create publication theirs for table signalbox.message")

    with pytest.raises(psycopg.Error, match="another publication has that name"):
        connection.execute("select signalbox.publish('theirs')")


def test_the_page_names_columns_that_there_are(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    for table in ("message", "settled", "dead_letter"):
        columns = connection.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0", [f"signalbox.{table}"]
        ).fetchall()
        (row,) = re.findall(rf"^\| `{table}` \|(.*)$", PAGE, re.M)
        named = set(re.findall(r"`([a-z_0-9]+)`", row)) - {"message"}
        assert named
        assert named <= {name for (name,) in columns}
