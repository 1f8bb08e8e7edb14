from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from console.access.roles import PERMISSIONS
from queues.management.commands.migrate import create_schema


@pytest.fixture
def powerless_role(db: None) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("create role powerless")
        cursor.execute("grant usage on schema signalbox to powerless")
        yield "powerless"


def test_a_role_without_create_rights_gets_advice(powerless_role: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("alter schema signalbox rename to elsewhere")
        cursor.execute("set local role powerless")

    with pytest.raises(CommandError, match='create schema signalbox authorization "powerless"'):
        create_schema(connection)


def test_a_role_that_was_given_the_schema_needs_no_right_to_create_one(powerless_role: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("set local role powerless")

    create_schema(connection)


def test_everything_of_django_lives_in_our_schema_too(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select distinct schemaname from pg_tables where tablename like any(array['django%', 'auth%'])")

        assert cursor.fetchall() == [("signalbox",)]


def test_a_console_that_is_taken_back_and_migrated_again_keeps_who_may_what(db: None) -> None:
    """Drop the tables and create them again: permissions and their groups stay."""
    MigrationExecutor(connection).migrate([("console", None)])
    assert "api_key" not in connection.introspection.table_names()
    held = held_permissions()

    call_command("migrate", verbosity=0)

    assert "api_key" in connection.introspection.table_names()
    assert held_permissions() == held
    assert set(held) >= set(PERMISSIONS)


def test_a_table_that_is_in_use_is_not_waited_for_long(
    commits: None, connect: Callable[..., psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_a_table(*args: Any, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("alter table signalbox.tenant add column of_this_test integer")

    monkeypatch.setattr(migrate.Command, "handle", change_a_table)
    reader = connect(autocommit=False)
    reader.execute("select from signalbox.tenant")

    with pytest.raises(CommandError, match=r"in use for longer than 0\.2 s"):
        call_command("migrate", lock_timeout=0.2, verbosity=0)

    with connection.cursor() as cursor:
        cursor.execute("select current_setting('lock_timeout')")
        assert cursor.fetchone() == ("0",), "and the next one begins as ever"


def held_permissions() -> dict[str, tuple[int, set[str]]]:
    """Every permission of the console: its id, and the groups that have it."""
    return {
        one.codename: (one.pk, set(Group.objects.filter(permissions=one).values_list("name", flat=True)))
        for one in Permission.objects.filter(content_type__app_label="console")
    }


def test_the_migrations_say_what_the_models_say(db: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
