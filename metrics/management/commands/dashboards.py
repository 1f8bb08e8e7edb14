"""The command that builds the Grafana dashboards: `manage.py dashboards [build] [--check]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboards import build


class Command(BaseCommand):
    help = "Builds the Grafana dashboards in dashboards/built/ from dashboards/sources/."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=["build"], default="build", help="build: the only action")
        parser.add_argument("--check", action="store_true", help="change nothing; fail when a file is out of date")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        if not check:
            changed = build.write()
            self.stdout.write(f"written: {', '.join(changed)}" if changed else "up to date")
        elif outdated := build.outdated():
            raise CommandError(f"not what the sources give: {', '.join(outdated)}; run `make dashboards`")
