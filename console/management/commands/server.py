"""The command `manage.py server`: every process of Signalbox on this machine, or one of them."""

import os
import signal
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from console.environment import variables_of_parts
from console.server import parts
from console.server.first_account import NAME, open_first_account
from console.server.starting import require_free_port, wait_until_ready
from console.server.supervisor import Supervisor
from console.web.server import is_loopback
from queues.stopping import on_signals


class Command(BaseCommand):
    help = (
        "Run every process of Signalbox on this machine, after the migrations, until Ctrl-C. With --part run one of"
        " them, for systemd and containers."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--part", choices=parts.NAMES, help="run only this process, without migrations")
        parser.add_argument("--host", default=parts.HOST, help="address on which the console listens (127.0.0.1)")

    def handle(self, *args: Any, part: str | None, host: str, **options: Any) -> None:
        if part:
            words = parts.command(part, host)
            os.execve(words[0], words, variables_of_parts({}))  # noqa: S606 - a list of words, no shell
        require_free_port(settings.PORT, host)
        self.stdout.write("Preparing the database ...")
        call_command("migrate", verbosity=0)
        password = open_first_account()
        supervisor = Supervisor(
            parts.together(host),
            variables_of_parts({"HTTPS_ONLY": "false"} if _is_this_machine(host) else {}),
            logs=settings.SIGNALBOX_HOME / "logs",
            say=self.stderr.write,
            on_started=lambda: self._welcome(supervisor, host, password),
        )
        on_signals(supervisor.stop, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        supervisor.run()
        self.stdout.write("Stopped. The data is kept.")

    def _welcome(self, supervisor: Supervisor, host: str, password: str | None) -> None:
        if not wait_until_ready(supervisor, host):
            return
        account = f"\n  log in as    {NAME}\n  password     {password}  (shown once)" if password else ""
        running = ", ".join(part.name for part in supervisor.parts)
        self.stdout.write(f"""
Signalbox is running at {self.style.SUCCESS(f"http://{host}:{settings.PORT}")}
{account}
  processes    {running}
  logs         {settings.SIGNALBOX_HOME / "logs"}

Ctrl-C stops everything; the data is kept.""")


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or is_loopback(host.strip("[]"))
