"""manage.py pgmq install | forward | remove: pgmq's functions over the verbs, and the move away from pgmq."""

import time
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.core.management.base import CommandError

from queues.commands import VerbCommand
from queues.database.connections import dsn
from queues.errors import SignalboxError
from queues.pgmq import installing, moving


class Command(VerbCommand):
    help = "Install pgmq's functions over the verbs, move the messages of pgmq's tables, or drop the functions."
    refusals = (SignalboxError, psycopg.Error)

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        install = verbs.add_parser("install", help="make the functions in the schema pgmq, or replace those of pgmq")
        beside = "make them in a schema of this name, beside an installed pgmq, which stays as it is"
        install.add_argument("--schema", default=installing.PGMQ, metavar="NAME", help=beside)
        forward = verbs.add_parser("forward", help="move messages from pgmq's tables until these are empty")
        forward.add_argument("queue", nargs="*", metavar="QUEUE", help="queues to move; default: all")
        seconds = "give up waiting for messages in flight after this time (default 600)"
        forward.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help=seconds)
        remove = verbs.add_parser("remove", help="drop the functions; queues, tables and messages stay")
        remove.add_argument("--schema", default=installing.PGMQ, metavar="NAME", help="drop those of this schema")

    def _install(self, options: dict[str, Any]) -> None:
        schema, queues = options["schema"], []
        with psycopg.connect(dsn(), autocommit=True) as connection:
            if schema == installing.PGMQ:
                queues = installing.install(connection)
            else:
                installing.install_beside(connection, schema)
        self.stdout.write(f"Installed the functions of pgmq in the schema {schema}.")
        if queues:
            self.stdout.write(f"Took over {', '.join(queues)}. Run `pgmq forward` to move their messages.")

    def _forward(self, options: dict[str, Any]) -> None:
        with psycopg.connect(dsn(), autocommit=True) as connection:
            queues = options["queue"] or moving.queues(connection)
            until = time.monotonic() + options["timeout"]
            left = sum([self._forward_one(connection, queue, until) for queue in queues])
        if left:
            raise CommandError(f"{left} messages are in flight in pgmq's tables: run it again.")

    def _forward_one(self, connection: psycopg.Connection[Any], queue: str, until: float) -> int:
        forwarded, left = moving.forward(connection, queue, until)
        self.stdout.write(f"{queue}: forwarded {forwarded}, left {left}")
        return left

    def _remove(self, options: dict[str, Any]) -> None:
        with psycopg.connect(dsn(), autocommit=True) as connection:
            installing.remove(connection, options["schema"])
        self.stdout.write("Dropped the functions.")
