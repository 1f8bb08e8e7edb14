"""Install the SQL verbs: every file under `queues/sql/`, when its text or the function in the catalog differs.

A folder is a noun. A file defines one function or view and has its name, which is also the key of its row in
`signalbox.sql_script`; the folder is not part of the key.

Tables belong to migrations; functions and views are repeatable scripts, so the file in the tree is what runs. They are
replaced in place (`create or replace`), never dropped, so that prepared statements and grants survive an upgrade.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import psycopg
from django.db import ProgrammingError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from queues import codes
from queues.database import sql_definitions
from queues.database.sql_definitions import declared
from queues.database.sql_names import rendered
from queues.settings import SETTINGS

SCRIPTS = Path(__file__).parents[1] / "sql"

PINNED_PATH = "pg_catalog, pg_temp"
"""The search path that every function sets, and with which PostgreSQL parses bodies in `begin atomic`."""

# One installer at a time: two processes that migrate at once would both replace the same functions.
INSTALL_LOCK = 0x5369676E  # "Sign"

# Each call ends at a table that is locked; this number of calls reaches the others.
IDENTIFY_CALLS = 20


def install(connection: BaseDatabaseWrapper) -> list[str]:
    """Run every script that is new, changed, or has functions that were replaced; return the scripts' names.

    In name order and in one transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute("select to_regclass('signalbox.sql_script') is not null")
        if not cursor.fetchone()[0]:
            return []  # migrated back to before the data plane
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
        _store_setting_definitions(cursor)
        _store_events(cursor)
        cursor.execute("select name, checksum from signalbox.sql_script")
        installed = dict(cursor.fetchall())
        functions, triggers = sql_definitions.installed(connection), sql_definitions.enabled_triggers(connection)
        changed = []
        cursor.execute("set local check_function_bodies = off")
        for name, text in scripts():
            checksum = hashlib.sha256(text.encode()).hexdigest()
            if installed.get(name) == checksum and _is_in_place(text, functions, triggers):
                continue
            if not _run(connection, text):
                continue
            cursor.execute(
                "insert into signalbox.sql_script (name, checksum, installed_at) values (%s, %s, clock_timestamp())"
                " on conflict (name) do update set checksum = excluded.checksum, installed_at = excluded.installed_at",
                [name, checksum],
            )
            changed.append(name)
    _prepare_log(connection)
    _identify_tables(connection)
    return changed


def scripts(folder: str = "*") -> Iterator[tuple[str, str]]:
    """Read the name and the text of every script, in the order of the names, with codes in place of their names.

    No other order is needed: PostgreSQL looks up what a body names when it runs. Views and bodies in `begin atomic`,
    which it parses when it makes them, name no other script.
    """
    for path in sorted(SCRIPTS.glob(f"{folder}/*.sql"), key=lambda path: path.stem):
        yield path.stem, rendered(path.read_text())


def _is_in_place(text: str, functions: set[sql_definitions.Definition], triggers: set[str]) -> bool:
    """Tell whether the catalog has each function as the script defines it, and each of its triggers, enabled."""
    return (
        not sql_definitions.differing(declared(text), functions) and sql_definitions.declared_triggers(text) <= triggers
    )


def _run(connection: BaseDatabaseWrapper, text: str) -> bool:
    """Execute a script; False where its tables are gone because migrations were reversed."""
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute("select current_setting('search_path')")
            (before,) = cursor.fetchone()
            cursor.execute("select set_config('search_path', %s, true)", [PINNED_PATH])
            cursor.execute(text)
            cursor.execute("select set_config('search_path', %s, true)", [before])
    except ProgrammingError as error:
        if isinstance(error.__cause__, psycopg.errors.UndefinedObject):
            loader = MigrationLoader(connection)
            if any(key not in loader.applied_migrations for key in loader.graph.leaf_nodes("queues")):
                return False
        raise
    return True


def _prepare_log(connection: BaseDatabaseWrapper) -> None:
    """Make the segments for the first messages; upkeep makes later ones."""
    with connection.cursor() as cursor:
        cursor.execute("select signalbox.ensure_partitions()")
        cursor.execute("select signalbox.publish_log_end()")  # a separate statement, which sees what is committed


def _identify_tables(connection: BaseDatabaseWrapper) -> None:
    """Give replica identities to tables that have none; upkeep does so later for a table that stays locked."""
    with connection.cursor() as cursor:
        for _ in range(IDENTIFY_CALLS):
            cursor.execute("select signalbox.identify_tables()")
            cursor.execute("select exists (select from signalbox._unidentified_tables())")
            if not cursor.fetchone()[0]:
                return


def _store_setting_definitions(cursor) -> None:  # type: ignore[no-untyped-def]
    definitions = [
        {
            "name": setting.name,
            "kind": setting.kind,
            "default_value": setting.default,
            "minimum": setting.minimum,
            "maximum": setting.maximum,
            "choices": list(setting.choices) or None,
        }
        for setting in SETTINGS.values()
    ]
    cursor.execute(
        "with given as (select * from jsonb_to_recordset(%s::jsonb) as g(name text, kind text, default_value jsonb,"
        " minimum double precision, maximum double precision, choices text[])),"
        " gone as (delete from signalbox.setting_definition d where d.name not in (select name from given))"
        " insert into signalbox.setting_definition select * from given"
        " on conflict (name) do update set kind = excluded.kind, default_value = excluded.default_value,"
        " minimum = excluded.minimum, maximum = excluded.maximum, choices = excluded.choices",
        [json.dumps(definitions)],
    )


def _store_events(cursor) -> None:  # type: ignore[no-untyped-def]
    cursor.execute(
        "with given as (select * from jsonb_to_recordset(%s::jsonb) as g(number smallint, name text, from_state text,"
        " to_state text)),"
        " gone as (delete from signalbox.counter_event e where e.event not in (select number from given))"
        " insert into signalbox.counter_event (event, name, from_state, to_state) select * from given"
        " on conflict (event) do update set name = excluded.name, from_state = excluded.from_state,"
        " to_state = excluded.to_state",
        [json.dumps([asdict(event) for event in codes.EVENTS])],
    )
