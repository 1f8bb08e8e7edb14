"""manage.py maintenance on | off | status: pause changes and delivery in the whole installation, from a terminal."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from console.web.wording import plural
from dlq.filters.readings import MisreadError, duration
from queues.commands import ACTOR, VerbCommand
from queues.control import maintenance
from queues.models import Maintenance


class Command(VerbCommand):
    help = "Pause the installation: only administrators can make changes, and no messages are delivered."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        on = verbs.add_parser("on", help="begin maintenance, or change its reason and end")
        on.add_argument("--reason", required=True, help="shown on every page")
        on.add_argument("--until", metavar="TIME", help="expected duration, such as 30m or 2h (default: unknown)")
        on.add_argument("--hand-out", action="store_true", help="keep delivering messages")
        on.add_argument("--refuse-sends", action="store_true", help="refuse sends as well")
        on.add_argument("--dry-run", action="store_true", help="print the effects, and change nothing")
        off = verbs.add_parser("off", help="end maintenance: every queue returns to its previous state")
        off.add_argument("--reason", default="", help="kept in the audit")
        verbs.add_parser("status", help="print whether maintenance is on").add_argument("--json", action="store_true")

    def _on(self, options: dict[str, Any]) -> None:
        try:
            until = timezone.now() + duration(options["until"]) if options["until"] else None
        except MisreadError as error:
            raise CommandError(f"--until is {options['until']!r}: it must be {error}") from error
        if options["dry_run"]:
            found = maintenance.preview()
            self.stdout.write(f"would hold {plural(found.queues, 'queue')}, of which {found.paused} are paused already")
            return
        row = maintenance.begin(
            actor=ACTOR,
            reason=options["reason"],
            until=until,
            holds_claims=not options["hand_out"],
            refuses_sends=options["refuse_sends"],
        )
        self.stdout.write(_line(row))

    def _off(self, options: dict[str, Any]) -> None:
        row = maintenance.end(actor=ACTOR, reason=options["reason"])
        self.stdout.write("off: every queue goes on as it was" if row else "it was off already")

    def _status(self, options: dict[str, Any]) -> None:
        row = maintenance.current()
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(row), indent=2))
            return
        self.stdout.write(_line(row) if row else "off")


def _line(row: Maintenance) -> str:
    effects = ", ".join([*row.effects, "only administrators can make changes"])
    return f"on, by {row.started_by}, {row.announced_end}: {row.reason} ({effects})"


def _as_json(row: Maintenance | None) -> dict[str, Any]:
    if row is None:
        return {"on": False}
    return {
        "on": True,
        "by": row.started_by,
        "reason": row.reason,
        "since": row.started_at.isoformat(),
        "until": row.until.isoformat() if row.until else None,
        "holds_claims": row.holds_claims,
        "refuses_sends": row.refuses_sends,
    }
