"""Install and remove the functions of the schema `pgmq`, in one transaction, while programs call them.

In a schema of another name they stand beside an installed pgmq, which stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from queues.database.sql_names import rendered
from queues.database.sql_scripts import PINNED_PATH
from queues.errors import InvalidArgument

SCRIPTS = Path(__file__).parent / "sql"

PGMQ = "pgmq"
"""The schema that clients of pgmq know."""

TYPES: Mapping[str, tuple[str, ...]] = {
    "message_record": (
        "msg_id bigint",
        "read_ct integer",
        "enqueued_at timestamptz",
        "last_read_at timestamptz",
        "vt timestamptz",
        "message jsonb",
        "headers jsonb",
    ),
    "queue_record": (
        "queue_name varchar",
        "is_partitioned boolean",
        "is_unlogged boolean",
        "created_at timestamptz",
    ),
    "metrics_result": (
        "queue_name text",
        "queue_length bigint",
        "newest_msg_age_sec integer",
        "oldest_msg_age_sec integer",
        "total_messages bigint",
        "scrape_time timestamptz",
        "queue_visible_length bigint",
        "default_partition_length bigint",
    ),
}
"""The types of pgmq's results, with their columns in pgmq's order."""

ID_STEP = 1_000_000
"""Message ids continue at a multiple of this number, more than one step above all ids that pgmq has given: an old and a
new message of a queue never share an id."""

Connection = psycopg.Connection[Any]


def install(connection: Connection) -> list[str]:
    """Replace pgmq's functions by ours, or make them; take over its queues, and return their names.

    The connection must be in autocommit: ids are moved on, and visible, before the first message is sent.
    """
    _check_engine(connection)
    _pass_old_ids(connection)
    with connection.transaction():
        _release_from_extension(connection)
        _make_schema(connection, PGMQ)
        try:
            with connection.transaction():
                _run_scripts(connection, PGMQ)
        except psycopg.errors.InvalidFunctionDefinition:  # another release has other names or results
            _drop_functions(connection, _FOREIGN, PGMQ)
            _run_scripts(connection, PGMQ)
        _drop_functions(connection, _WITHOUT_EQUAL, PGMQ)
        queues = [row[0] for row in connection.execute("select queue_name from pgmq.meta order by queue_name")]
        for queue in queues:
            connection.execute("select pgmq.create(%s)", [queue])
            _widen_archive(connection, queue)
    return queues


def install_beside(connection: Connection, schema: str) -> None:
    """Make the functions in a schema of this name. Raises `InvalidArgument` for a name that cannot be one."""
    if not _NAME.fullmatch(schema) or schema in _TAKEN:
        raise InvalidArgument(
            f"schema is {schema[:80]!r}: it must be lower-case letters, digits and underscores, and no schema in use",
            field="schema",
        )
    _check_engine(connection)
    with connection.transaction():
        _make_schema(connection, schema)
        _run_scripts(connection, schema)


def remove(connection: Connection, schema: str = PGMQ) -> None:
    """Drop our functions; tables, with what was archived, and the queues stay."""
    with connection.transaction():
        _drop_functions(connection, _OURS, schema)


def scripts(schema: str = PGMQ) -> Iterator[tuple[str, str]]:
    """Read the name and the text of every script, helpers first: bodies in SQL are checked when they are made."""
    for path in sorted(SCRIPTS.glob("*/*.sql"), key=lambda path: path.stem):
        yield path.stem, _of(schema, rendered(path.read_text()))


def _of(schema: str, text: str) -> str:
    """Write a statement about the schema pgmq for a schema of another name."""
    return _SCHEMA.sub(lambda found: found[0].replace(PGMQ, schema), text)


_SCHEMA = re.compile(r"\bpgmq\.|schema if not exists pgmq\b|'pgmq'(?=::regnamespace)")
_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_TAKEN = (PGMQ, "signalbox", "public", "information_schema")


def _check_engine(connection: Connection) -> None:
    if not connection.execute("select to_regclass('signalbox.sql_script') is not null").fetchone()[0]:  # type: ignore[index]
        raise InvalidArgument("The database has no schema signalbox: run migrate on the database of pgmq first.")


def _pass_old_ids(connection: Connection) -> None:
    """Raise the next message id above all ids of pgmq, so that an id of pgmq never names a new message."""
    highest = max((_highest_id(connection, table) for (table,) in connection.execute(_OLD_TABLES)), default=0)
    if highest:
        target = (highest // ID_STEP + 2) * ID_STEP
        connection.execute(
            "select setval('signalbox.message_id', %s)"
            " where coalesce(pg_sequence_last_value('signalbox.message_id'), 0) < %s",
            [target, target],
        )
        connection.execute("select signalbox.ensure_partitions()")
        connection.execute("select signalbox.publish_log_end()")


def _highest_id(connection: Connection, table: str) -> int:
    """The highest id that pgmq has given for a table, also to messages that are gone."""
    name = sql.Identifier("pgmq", table)
    query = sql.SQL("select greatest(max(msg_id), pg_sequence_last_value({}), 0) from {}")
    sequence = sql.SQL("pg_get_serial_sequence({}, 'msg_id')::regclass").format(name.as_string(connection))
    found = connection.execute(query.format(sequence, name)).fetchone()
    return int(found[0]) if found else 0


def _release_from_extension(connection: Connection) -> None:
    """Turn an extension into plain functions and tables: a dump leaves out what belongs to an extension."""
    while member := connection.execute(_FIRST_MEMBER).fetchone():  # some take their types with them
        kind, identity = map(sql.SQL, member)
        connection.execute(sql.SQL("alter extension pgmq drop {} {}").format(kind, identity))
    connection.execute("drop extension if exists pgmq")


def _make_schema(connection: Connection, schema: str) -> None:
    connection.execute(_of(schema, "create schema if not exists pgmq").encode())
    connection.execute(_of(schema, _META).encode())
    found: dict[str, list[str]] = {}
    for name, column in connection.execute(_of(schema, _COLUMNS).encode(), [list(TYPES)]):
        found.setdefault(name, []).append(column)
    for name, columns in TYPES.items():
        expected = [column.split()[0] for column in columns]
        if found.get(name) == expected:
            continue
        kind = sql.Identifier(schema, name)
        if name in found:
            _drop_functions(connection, _FOREIGN, schema)
            connection.execute(sql.SQL("drop type {}").format(kind))
        body = sql.SQL(", ").join(map(sql.SQL, columns))
        connection.execute(sql.SQL("create type {} as ({})").format(kind, body))


def _run_scripts(connection: Connection, schema: str) -> None:
    connection.execute("set local check_function_bodies = off")
    for _, text in scripts(schema):
        connection.execute(text.encode())


def _drop_functions(connection: Connection, which: str, schema: str) -> None:
    for (function,) in connection.execute(_of(schema, _FUNCTIONS.format(which)).encode(), [PINNED_PATH]).fetchall():
        connection.execute(sql.SQL("drop function {}").format(sql.SQL(function)))


def _widen_archive(connection: Connection, queue: str) -> None:
    """Give the archive of an earlier release of pgmq the columns that it lacks."""
    table = sql.Identifier("pgmq", f"a_{queue.lower()}")
    found = {column for (column,) in connection.execute(_TABLE_COLUMNS, [f"a_{queue.lower()}"])}
    for name, kind in (("last_read_at", "timestamptz"), ("headers", "jsonb")):
        if name not in found:
            connection.execute(sql.SQL("alter table {} add column {} {}").format(table, *map(sql.SQL, (name, kind))))


_OLD_TABLES = r"""
select c.relname from pg_class c
where c.relnamespace = to_regnamespace('pgmq') and c.relkind in ('r', 'p') and not c.relispartition
  and c.relname ~ '^[qa]_'
"""
_FIRST_MEMBER = """
select o.type, o.identity
from pg_depend d
join pg_extension e on e.oid = d.refobjid and e.extname = 'pgmq'
cross join pg_identify_object(d.classid, d.objid, 0) o
where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
order by d.classid = 'pg_class'::regclass desc, o.identity like '%[]'
limit 1
"""
_META = """
create table if not exists pgmq.meta (
  queue_name varchar unique not null, is_partitioned boolean not null, is_unlogged boolean not null,
  created_at timestamptz default now() not null
)
"""
_COLUMNS = """
select t.typname, a.attname
from pg_type t
join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
where t.typnamespace = 'pgmq'::regnamespace and t.typname = any(%s)
order by t.typname, a.attnum
"""
_TABLE_COLUMNS = """
select a.attname from pg_attribute a
where a.attrelid = format('pgmq.%%I', %s::text)::regclass and a.attnum > 0 and not a.attisdropped
"""
_FUNCTIONS = """
select p.oid::regprocedure::text from pg_proc p
cross join lateral (select coalesce(p.proconfig @> array['search_path=' || %s], false) as ours) f
where p.pronamespace = 'pgmq'::regnamespace and {}
  and not exists (select from pg_depend d where d.refobjid = p.oid and d.deptype = 'n')
"""
_OURS = "f.ours"
_FOREIGN = "not f.ours"
_WITHOUT_EQUAL = "not f.ours and p.proname ~ '^(_?read_grouped|_?create_fifo_index|convert_archive)'"
"""Functions of pgmq without a replacement here. They are dropped, so that a caller gets an error and not an empty
answer."""
