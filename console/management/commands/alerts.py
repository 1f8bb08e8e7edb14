"""manage.py alerts: the console's own look for alerts, for installations without Prometheus."""

from __future__ import annotations

import json
import signal
from typing import Any

from django.core.management.base import CommandParser

from metrics.alerts import evaluating, notifications
from metrics.alerts.evaluating import Outcome
from metrics.alerts.evaluator import Evaluator
from queues.commands import OwnCommand
from queues.stopping import on_signals


class Command(OwnCommand):
    help = "evaluate: look at every queue's counters every so often, and tell people of what is wrong."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["evaluate"])
        parser.add_argument("--once", action="store_true", help="look once, send what is due, and end")
        parser.add_argument("--json", action="store_true", help="with --once: the outcome as JSON")

    def handle(self, *args: Any, once: bool, json: bool, **options: Any) -> None:
        if once:
            self._once(as_json=json)
            return
        evaluator = Evaluator()
        on_signals(evaluator.stop, signal.SIGINT, signal.SIGTERM)
        self.stdout.write("Looking for alerts; Ctrl-C stops it.")
        evaluator.run()

    def _once(self, *, as_json: bool) -> None:
        outcome = evaluating.evaluate()
        arrived = notifications.deliver()
        facts = _facts(outcome) | {"sent": arrived}
        if as_json:
            self.stdout.write(json.dumps(facts))
        elif outcome is None:
            self.stdout.write(f"Another process looks, or has just looked. Sent: {arrived}.")
        else:
            self.stdout.write(", ".join(f"{name}: {value}" for name, value in facts.items()))


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
