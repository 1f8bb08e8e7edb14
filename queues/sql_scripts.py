"""Install the SQL verbs: every file in `queues/sql/`, replaced whenever its text or what the catalog has changed.

Tables belong to migrations; functions and views are repeatable scripts, so the file in the tree is what runs. They are
replaced in place (`create or replace`), never dropped, so that prepared statements and grants survive an upgrade.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import psycopg
from django.db import ProgrammingError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from queues import sql_definitions
from queues.settings import SETTINGS
from queues.sql_definitions import declared

SCRIPTS = Path(__file__).parent / "sql"

PINNED_PATH = "pg_catalog, pg_temp"
"""The search path that every function sets, and with which PostgreSQL parses bodies in `begin atomic`."""

# One installer at a time: two processes that migrate at once would both replace the same functions.
INSTALL_LOCK = 0x5369676E  # "Sign"

# Each call ends at a table that is locked; so many calls reach the others.
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
        cursor.execute("select name, checksum from signalbox.sql_script")
        installed = dict(cursor.fetchall())
        found, triggers = sql_definitions.installed(connection), sql_definitions.enabled_triggers(connection)
        changed = []
        cursor.execute("set local check_function_bodies = off")
        for script in sorted(SCRIPTS.glob("*.sql")):
            text = script.read_text()
            checksum = hashlib.sha256(text.encode()).hexdigest()
            if installed.get(script.stem) == checksum and _is_in_place(text, found, triggers):
                continue
            if not _run(connection, text):
                continue
            cursor.execute(
                "insert into signalbox.sql_script (name, checksum, installed_at) values (%s, %s, clock_timestamp())"
                " on conflict (name) do update set checksum = excluded.checksum, installed_at = excluded.installed_at",
                [script.stem, checksum],
            )
            changed.append(script.stem)
    _prepare_log(connection)
    _identify_tables(connection)
    return changed


def _is_in_place(text: str, found: set[sql_definitions.Definition], triggers: set[str]) -> bool:
    """Whether each function of this script is in the catalog as it is here, and each trigger is there and fires."""
    return not sql_definitions.differing(declared(text), found) and sql_definitions.declared_triggers(text) <= triggers


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
        if not isinstance(error.__cause__, psycopg.errors.UndefinedObject) or not _is_taken_back(connection):
            raise
        return False
    return True


def _is_taken_back(connection: BaseDatabaseWrapper) -> bool:
    loader = MigrationLoader(connection)
    return any(key not in loader.applied_migrations for key in loader.graph.leaf_nodes("queues"))


def _prepare_log(connection: BaseDatabaseWrapper) -> None:
    """Segments for the first messages, so that nobody sends before there is a place; upkeep goes on from here."""
    with connection.cursor() as cursor:
        cursor.execute("select signalbox.ensure_partitions()")
        cursor.execute("select signalbox.publish_log_end()")  # a statement of its own: it sees what is committed


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
