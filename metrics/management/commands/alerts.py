"""manage.py alerts: evaluate alerts and send notifications, for installations without Prometheus.

Two loops, one that evaluates and one that sends, so that a slow mail server does not delay the evaluation.
"""

from __future__ import annotations

import json
import logging
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import Error, connections

from metrics.alerts import evaluating, notifications
from metrics.alerts.evaluating import Outcome
from queues.commands import OwnCommand
from queues.stopping import Stopping, on_signals

DELIVER_SECONDS = 2.0

log = logging.getLogger(__name__)


class Command(OwnCommand):
    help = "evaluate: check the counters of every queue at intervals, and notify people of alerts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["evaluate"])
        parser.add_argument("--once", action="store_true", help="evaluate once, send due notifications, and end")
        parser.add_argument("--json", action="store_true", help="with --once: the outcome as JSON")

    def handle(self, *args: Any, once: bool, json: bool, **options: Any) -> None:
        if once:
            self._once(as_json=json)
            return
        evaluator = Evaluator()
        on_signals(evaluator.stop, signal.SIGINT, signal.SIGTERM)
        self.stdout.write("Evaluating alerts; Ctrl-C stops it.")
        evaluator.run()

    def _once(self, *, as_json: bool) -> None:
        outcome = evaluating.evaluate()
        arrived = notifications.deliver()
        facts = _facts(outcome) | {"sent": arrived}
        if as_json:
            self.stdout.write(json.dumps(facts))
        elif outcome is None:
            self.stdout.write(f"Another process evaluates, or has just done so. Sent: {arrived}.")
        else:
            self.stdout.write(", ".join(f"{name}: {value}" for name, value in facts.items()))


@dataclass
class Evaluator:
    """The two loops of one process: they run until `stop`, and go on after a lost database."""

    stopping: Stopping = field(default_factory=Stopping)

    def stop(self) -> None:
        """End both loops after their current step."""
        self.stopping.set()

    def run(self) -> None:
        sender = threading.Thread(target=self._every, args=(DELIVER_SECONDS, notifications.deliver), name="sender")
        sender.start()
        try:
            self._every(float(settings.ALERTS_EVERY_SECONDS), evaluating.evaluate)
        finally:
            self.stop()
            sender.join()

    def _every(self, seconds: float, step: Callable[[], object]) -> None:
        while not self.stopping.is_set():
            try:
                step()
            except Error:
                log.warning("the database does not answer, trying again", exc_info=True)
            except Exception:
                log.exception("this round failed, trying again")
            finally:
                connections.close_all()
            self.stopping.wait(seconds)


def _facts(outcome: Outcome | None) -> dict[str, Any]:
    if outcome is None:
        return {"evaluated": False}
    return {
        "evaluated": True,
        "firing": outcome.firing,
        "pending": outcome.pending,
        "fired": [f"{alert.name} {alert.queue_name}".strip() for alert in outcome.fired],
        "resolved": [f"{alert.name} {alert.queue_name}".strip() for alert in outcome.resolved],
    }
