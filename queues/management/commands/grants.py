"""manage.py grants: print or execute the SQL that gives database roles exactly the rights of their kind."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from queues.commands import OwnCommand
from queues.database.connections import connect
from queues.database.grants import KINDS, statements, write
from queues.errors import SignalboxError

HELP = {
    "application": "sends, receives, makes and configures queues and streams",
    "archiver": "reads what an archive run reads (ARCHIVE_READ_URL), and changes nothing",
    "broker": "is a Celery application: queues, mailboxes and bindings",
}


class Command(OwnCommand):
    help = "Print the SQL that gives roles exactly the rights of their kind and no others; --write executes it."
    refusals = (SignalboxError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        for kind in KINDS:
            parser.add_argument(
                f"--{kind}", action="append", default=[], metavar="ROLE", help=f"a role that {HELP[kind]}"
            )
        parser.add_argument("--write", action="store_true", help="execute the SQL, in one transaction")

    def handle(self, *args: Any, **options: Any) -> None:
        roles: dict[str, list[str]] = {}
        for kind in KINDS:
            for role in dict.fromkeys(filter(None, options[kind])):
                roles.setdefault(role, []).append(kind)
        if not roles:
            raise CommandError(f"name a role: {', '.join(f'--{kind} ROLE' for kind in KINDS)}")
        with connect("signalbox grants") as connection:
            written = (write if options["write"] else statements)(connection, roles)
        if options["write"]:
            self.stdout.write(f"Wrote {len(written)} statements for {', '.join(roles)}.")
        else:
            self.stdout.write("".join(f"{statement};\n" for statement in ["begin", *written, "commit"]))
