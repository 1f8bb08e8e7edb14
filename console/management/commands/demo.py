"""The command `manage.py demo`: runs every process of Signalbox on this machine, with traffic, until Ctrl-C."""

import secrets
import signal
import sys
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.access.api_keys.keys import NewKey
from console.demo import callers, cells, history, monitoring, scenery, sqs
from console.demo.cells import DemoCell
from console.demo.monitoring import Monitoring
from console.environment import variables_of_parts
from console.server import parts
from console.server.parts import HOST
from console.server.starting import require_free_port, wait_until_ready
from console.server.supervisor import Part, Supervisor
from pipeline.spark.sessions import has_java
from queues.history import invented
from queues.stopping import on_signals

WATCHING = f"  Prometheus   http://{HOST}:{{}}\n  Alertmanager http://{HOST}:{{}}\n"
HISTORY = "  history      made up until {:%Y-%m-%d %H:%M} UTC; the charts mark that moment\n"
TRAFFIC = ("workers", "producers", "streams")
"""Modules of the demo, each a process that makes traffic."""


class Command(BaseCommand):
    help = "Run a whole system here with lively traffic, some of it failing, at http://127.0.0.1:PORT."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--messages", type=int, default=0, metavar="N", help="first load N messages of history")
        parser.add_argument(
            "--cells", type=int, default=1, metavar="N", help=f"cells of a fleet, 1 to {cells.MAX_CELLS}"
        )
        parser.add_argument("--observe", action="store_true", help="with Prometheus and Alertmanager, if installed")
        parser.add_argument("--load-only", action="store_true", help="load the history and end")

    def handle(self, *args: Any, messages: int, load_only: bool, observe: bool, **options: Any) -> None:
        if not 0 <= messages <= 100_000_000:
            raise CommandError("--messages must be from 0 to 100000000")
        if not 1 <= options["cells"] <= cells.MAX_CELLS:
            raise CommandError(f"--cells must be from 1 to {cells.MAX_CELLS}")
        if not load_only:
            require_free_port(settings.PORT)
        watching = self._monitoring() if observe else None
        self.stdout.write("Preparing the database ...")
        call_command("migrate", verbosity=0)
        scenery.build()
        invented.invent(scenery.rates())
        if messages:
            history.load(messages, lambda line: self.stdout.write(f"  {line}"))
        if load_only:
            scenery.close_accounts()
            return
        others = cells.build(options["cells"])
        key = scenery.make_key()
        token = settings.ALERTMANAGER_TOKEN or secrets.token_urlsafe(32)
        sqs_port = sqs.port()
        supervisor = Supervisor(
            [*_parts(others), *(watching.parts(settings.SIGNALBOX_HOME / "observe", token) if watching else [])],
            _environment(key, sqs_port) | ({"ALERTMANAGER_TOKEN": token} if watching else {}),
            logs=settings.SIGNALBOX_HOME / "logs",
            say=self.stderr.write,
            on_started=lambda: self._welcome(supervisor, watching, key, sqs_port, others),
        )
        on_signals(supervisor.stop, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        try:
            supervisor.run()
        finally:
            scenery.close_accounts()
            self.stdout.write("Stopped. The data is kept: `make demo` continues with it.")

    def _monitoring(self) -> Monitoring | None:
        """Find Prometheus and Alertmanager; without them, say how to get them."""
        found = monitoring.find(settings.PORT)
        if found is None:
            self.stderr.write(monitoring.HOW_TO_GET)
            return None
        for port in (found.prometheus_port, found.alertmanager_port):
            require_free_port(port)
        return found

    def _welcome(
        self,
        supervisor: Supervisor,
        watching: Monitoring | None,
        key: NewKey,
        sqs_port: int,
        others: Sequence[DemoCell],
    ) -> None:
        if not wait_until_ready(supervisor):
            return
        cells.leave(others)
        programs = "" if watching is None else WATCHING.format(watching.prometheus_port, watching.alertmanager_port)
        until = invented.end_of_invention()
        made_up = "" if until is None else HISTORY.format(until)
        self.stdout.write(f"""
Signalbox is running at {self.style.SUCCESS(f"http://{HOST}:{settings.PORT}")}

  log in as    {", ".join(scenery.USERS)}
  password     {scenery.PASSWORD}
  API key      {key.text}
               for http://{HOST}:{settings.PORT}/v1/docs, until the demo ends
{sqs.lines(key, sqs_port)}  logs         {settings.SIGNALBOX_HOME / "logs"}
  alerts       mailed as files to {settings.EMAIL_FILE_PATH}
{cells.lines(supervisor.parts)}{made_up}{programs}
Ctrl-C stops everything; the data is kept.""")


def _parts(others: Sequence[DemoCell]) -> list[Part]:
    traffic = [Part(name, [sys.executable, "-m", f"console.demo.{name}"]) for name in TRAFFIC]
    return [*parts.together(), *cells.parts(others), *traffic]


def _environment(key: NewKey, sqs_port: int) -> dict[str, str]:
    shown = {"ENVIRONMENT": "demo", "ALERTS_MAIL_TO": "demo@localhost"}
    mails = shown | {"EMAIL_BACKEND": "django.core.mail.backends.filebased.EmailBackend"}
    pipeline = {  # some runs to look at where there is a Java, without a Java that stays between them
        "ARCHIVE_SCHEDULE": "*/5 * * * *",
        "ROLLUP_SCHEDULE": "1-59/5 * * * *",
        "SPARK_SERVER_IDLE_SECONDS": "90",
        "SPARK_OPTIONS": '{"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "2"}',
    }
    calls = {callers.KEY_VARIABLE: key.text, "SQS_PORT": str(sqs_port)}
    return variables_of_parts(mails | (pipeline if has_java() else {}), HTTPS_ONLY="false") | calls
