"""No column that could keep a payload, a header or an error escapes an erasure unnoticed."""

from __future__ import annotations

from django.apps import apps

from tests.dlq.erasure.inventory import ERASED, fate
from tests.engine import Engine

ROOMS = {"queues", "dlq", "metrics", "pipeline", "console"}
COLUMNS = """
select c.relname, a.attname
from pg_attribute a
join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'signalbox'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and a.attnum > 0 and not a.attisdropped
  and (
    format_type(a.atttypid, null) in ('json', 'jsonb', 'jsonb[]', 'text', 'text[]', 'bytea', 'xml')
    or format_type(a.atttypid, null) = 'character varying' and (a.atttypmod < 0 or a.atttypmod >= 304)
  )
order by 1, 2
"""
"""Long enough for what a message carries. Parts of a divided table are as the table."""


def columns(engine: Engine) -> list[tuple[str, str]]:
    """Tables of the project: those of libraries are about people who log in."""
    foreign = {
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label not in ROOMS and model._meta.managed
    } | {"django_migrations"}
    return [(table, column) for table, column in engine.rows(COLUMNS) if table not in foreign]


def test_every_column_that_could_keep_a_payload_is_known(engine: Engine) -> None:
    unknown = [f"{table}.{column}" for table, column in columns(engine) if not fate(table, column)]

    assert unknown == [], "say in dlq/erasure/inventory.py what an erasure does about them"


def test_a_new_column_is_noticed(engine: Engine) -> None:
    with engine.connection.transaction(force_rollback=True):
        engine.connection.execute("create table signalbox.newly_made (copy_of_payload jsonb)")
        assert ("newly_made", "copy_of_payload") in columns(engine)
    assert fate("newly_made", "copy_of_payload") == ""


def test_what_is_erased_is_there(engine: Engine) -> None:
    there = set(columns(engine))

    assert {(table, column) for table, listed in ERASED.items() for column in listed} - there == set()
