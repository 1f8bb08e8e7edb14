from collections.abc import Iterator

import pytest
from django.core.management import CommandError
from django.db import connection

from console.management.commands.migrate import create_schema


@pytest.fixture
def powerless_role(db: None) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("create role powerless")
        cursor.execute("grant usage on schema signalbox to powerless")
        yield "powerless"


def test_a_role_that_may_not_create_the_schema_is_told_what_to_ask_for(powerless_role: str) -> None:
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
