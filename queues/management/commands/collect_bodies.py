"""manage.py collect_bodies: remove large bodies that nothing needs; upkeep does the same every ten minutes."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from queues import bodies
from queues.commands import OwnCommand
from queues.database.connections import connect
from queues.upkeep.body_collection import collect, sweep

MAX_GRACE_SECONDS = 31_536_000


class Command(OwnCommand):
    help = "Remove large bodies that no message, kept body or dead letter points to."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--grace", type=float, metavar="S", help="seconds since the last claim (default: BODIES_GRACE_SECONDS)"
        )
        parser.add_argument("--sweep", action="store_true", help="also delete objects in the store that have no row")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        grace = settings.BODIES_GRACE_SECONDS if options["grace"] is None else options["grace"]
        if not 0 <= grace <= MAX_GRACE_SECONDS:
            raise CommandError(f"--grace must be from 0 to {MAX_GRACE_SECONDS} seconds")
        with connect("signalbox collect_bodies") as connection:
            done = collect(connection, bodies.store(), grace, most=None)
            if options["sweep"]:
                swept = sweep(connection, bodies.store())
                done.orphans, done.failed = swept.orphans, done.failed + swept.failed
        if options["json"]:
            self.stdout.write(json.dumps({"removed": done.removed, "orphans": done.orphans, "failed": done.failed}))
        else:
            self.stdout.write(f"Removed {done.removed} bodies and {done.orphans} orphans; {done.failed} failed.")
