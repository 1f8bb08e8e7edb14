"""manage.py failover show | fence HOST | unfence HOST: the hosts of DATABASE_URL, a primary and its standbys."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.core.management.base import CommandError

from queues.commands import ACTOR, VerbCommand
from queues.database import failover
from queues.database.connections import NoSession, session_dsn
from queues.database.failover import HostState, Who

_LINE = "{:<32} {:<12} {:>6}  {}"


class Command(VerbCommand):
    help = "Says what each host of DATABASE_URL is, and keeps one from writing that was replaced."
    refusals = (NoSession, psycopg.Error)

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("show", help="primary, standby or fenced, and of which epoch").add_argument(
            "--json", action="store_true"
        )
        fence = verbs.add_parser("fence", help="make a host's database read-only and end its sessions")
        fence.add_argument("host", help="as `show` names it")
        fence.add_argument("--reason", default="")
        fence.add_argument("--current", action="store_true", help="although it is the primary of the highest epoch")
        unfence = verbs.add_parser("unfence", help="let a host be written to again")
        unfence.add_argument("host")
        unfence.add_argument("--reason", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        self._dsn = session_dsn()
        self._sights = failover.read_hosts(self._dsn)
        if not self._sights:
            raise CommandError("DATABASE_URL names one host: there is nothing to fail over to.")
        super().handle(*args, **options)

    def _show(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps([sight.as_json() for sight in self._sights], indent=2))
            return
        self.stdout.write(_LINE.format("host", "is", "epoch", ""))
        stale = failover.replaced(self._sights)
        for sight in self._sights:
            note = sight.trouble or ("was replaced, and takes writes: fence it" if sight in stale else "")
            self.stdout.write(_LINE.format(sight.name, sight.role, sight.epoch or "-", note))

    def _fence(self, options: dict[str, Any]) -> None:
        sight = self._taking_writes(options["host"])
        replaced_by = failover.successor(self._sights, sight)
        if sight.role == "primary" and not replaced_by and not options["current"]:
            raise CommandError(
                f"{sight.name} is the primary: fencing it stops every queue. Promote another first, or say --current."
            )
        ended = failover.fence(self._dsn, sight, Who(ACTOR, options["reason"]), replaced_by)
        self.stdout.write(f"{sight.name} takes no writes any more; {ended} sessions were ended.")

    def _unfence(self, options: dict[str, Any]) -> None:
        sight = self._taking_writes(options["host"])
        if failover.successor(self._sights, sight):
            raise CommandError(f"{sight.name} was replaced: make it a standby of the new primary instead.")
        failover.unfence(self._dsn, sight, Who(ACTOR, options["reason"]))
        self.stdout.write(f"{sight.name} may be written to again.")

    def _taking_writes(self, host: str) -> HostState:
        for sight in self._sights:
            if host in (sight.name, sight.host.get("host")):
                if sight.trouble:
                    raise CommandError(f"{sight.name} cannot be reached: {sight.trouble}")
                if sight.role == "standby":
                    raise CommandError(f"{sight.name} is a standby, and takes no writes.")
                return sight
        raise CommandError(f"There is no host {host}: there are {', '.join(one.name for one in self._sights)}.")
