"""Django's migrate, after creating the PostgreSQL schema in which everything of Signalbox lives."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import OperationalError, ProgrammingError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

from queues.database import search_path
from queues.database.connections import NoSession, lead_past_the_pooler
from signalbox.connections import pooling

SCHEMA = "signalbox"
# One migration at a time in a database, however many replicas start at once; the number is ours alone.
MIGRATION_LOCK = 0x5157A1B0
LOCK_SECONDS = 10.0
"""A migration that waits for the lock of a table blocks all later transactions, those of senders too."""


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--lock-timeout",
            type=float,
            default=LOCK_SECONDS,
            metavar="SECONDS",
            help=f"stop waiting for a locked table after this time ({LOCK_SECONDS:g}); 0: never",
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Connect past a pooler, if there is one, before the checks, which query the database."""
        self._role = connections[options["database"]].settings_dict["USER"]
        try:
            lead_past_the_pooler(options["database"])
        except NoSession as error:
            raise CommandError(str(error)) from error
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [MIGRATION_LOCK])
            cursor.execute("select set_config('lock_timeout', %s, false)", [f"{options['lock_timeout']:.3f}s"])
        try:
            create_schema(connection)
            super().handle(*args, **options)
            if pooling.is_pooled() and search_path.set_for_role(connection, self._role):
                self.stdout.write(
                    f"Set the search path of {self._role or 'the role'}; run RECONNECT on the console of the pooler."
                )
        except search_path.SearchPathDenied as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise CommandError(
                    f"A table was in use for longer than {options['lock_timeout']:g} s: its migration was rolled back."
                    " Run it again; pg_locks shows which session holds the lock."
                ) from error
            raise
        finally:
            if connection.is_usable():
                with connection.cursor() as cursor:
                    cursor.execute("reset lock_timeout")
                    cursor.execute("select pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def create_schema(connection: BaseDatabaseWrapper) -> None:
    """Create the schema unless it exists: an owner may create it for a role that may not."""
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
