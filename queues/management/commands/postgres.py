"""Manage the embedded PostgreSQL: `manage.py postgres status | url | stop`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from queues.database.embedded import EmbeddedPostgres


class Command(BaseCommand):
    help = "Shows, addresses or stops the embedded PostgreSQL."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action",
            choices=["status", "url", "stop"],
            help="status: is it running; url: its address, for psql; stop: end it although it may have users",
        )

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if settings.DATABASE_URL:
            raise CommandError("DATABASE_URL is set, so the embedded PostgreSQL is not in use")
        server = EmbeddedPostgres(settings.SIGNALBOX_HOME)
        match action:
            case "status":
                state = "running" if server.is_accepting() else "stopped"
                self.stdout.write(f"{state}: {server.folders.data}")
            case "url":
                self.stdout.write(server.url())
            case "stop":
                server.stop()
                self.stdout.write("stopped")
