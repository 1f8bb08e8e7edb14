"""manage.py schedule_upkeep: schedule upkeep with pg_cron, where the database has that extension."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from queues.commands import OwnCommand
from queues.database.query import verb_value
from queues.errors import InvalidArgument


class Command(OwnCommand):
    help = "Schedule upkeep with the extension pg_cron, or remove its jobs. Fails when pg_cron is not installed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help="remove the jobs")

    def handle(self, *args: Any, **options: Any) -> None:
        verb = "unschedule_upkeep" if options["remove"] else "schedule_upkeep"
        try:
            done = verb_value(f"select signalbox.{verb}()")
        except InvalidArgument as error:
            raise CommandError(f"{error}. Run manage.py upkeep instead; docs/start/installing.md says how.") from error
        if options["remove"]:
            self.stdout.write(f"Removed {done} jobs.")
        else:
            self.stdout.write(f"pg_cron runs: {', '.join(done or [])}.")
            self.stdout.write(
                "Claims get slower while a transaction holds an old snapshot: only manage.py upkeep moves claim floors."
            )
