"""Django's migrate, after creating the PostgreSQL schema in which everything of Signalbox lives."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import ProgrammingError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

SCHEMA = "signalbox"
# One migration at a time in a database, however many replicas start at once; the number is ours alone.
MIGRATION_LOCK = 0x5157A1B0


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            create_schema(connection)
            super().handle(*args, **options)
        finally:
            if connection.is_usable():
                with connection.cursor() as cursor:
                    cursor.execute("select pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def create_schema(connection: BaseDatabaseWrapper) -> None:
    """Create the schema unless it exists: a role that may not create one can be given one."""
    with connection.cursor() as cursor:
        cursor.execute("select to_regnamespace(%s) is not null, current_user, current_database()", [SCHEMA])
        exists, user, database = cursor.fetchone()
        if exists:
            return
        try:
            cursor.execute(f"create schema {SCHEMA}")
        except ProgrammingError as error:
            raise CommandError(
                f"The role {user} may not create the schema {SCHEMA} in the database {database}. "
                f'As its owner, run: create schema {SCHEMA} authorization "{user}"'
            ) from error
