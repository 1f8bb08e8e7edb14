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
from queues.database.failover import AuditNote, HostState

_LINE = "{:<32} {:<12} {:>6}  {}"


class Command(VerbCommand):
    help = "Show the role of each host of DATABASE_URL, or stop writes on a primary that was replaced."
    refusals = (NoSession, psycopg.Error)

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("show", help="role (primary, standby or fenced) and epoch of each host").add_argument(
            "--json", action="store_true", help="print JSON"
        )
        fence = verbs.add_parser("fence", help="make a host's database read-only and end its sessions")
        fence.add_argument("host", help="name of the host, as `show` prints it")
        fence.add_argument("--reason", default="", help="why, for the audit")
        fence.add_argument("--current", action="store_true", help="fence the host although it is the current primary")
        unfence = verbs.add_parser("unfence", help="allow writes on a host again")
        unfence.add_argument("host", help="name of the host, as `show` prints it")
        unfence.add_argument("--reason", default="", help="why, for the audit")

    def handle(self, *args: Any, **options: Any) -> None:
        self._dsn = session_dsn()
        self._states = failover.read_hosts(self._dsn)
        if not self._states:
            raise CommandError("DATABASE_URL names one host: there is nothing to fail over to.")
        super().handle(*args, **options)

    def _show(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps([state.as_json() for state in self._states], indent=2))
            return
        self.stdout.write(_LINE.format("host", "is", "epoch", ""))
        stale = failover.replaced(self._states)
        for state in self._states:
            note = state.trouble or ("was replaced, and takes writes: fence it" if state in stale else "")
            self.stdout.write(_LINE.format(state.name, state.role, state.epoch or "-", note))

    def _fence(self, options: dict[str, Any]) -> None:
        state = self._taking_writes(options["host"])
        replaced_by = failover.successor(self._states, state)
        if state.role == "primary" and not replaced_by and not options["current"]:
            raise CommandError(
                f"{state.name} is the primary: fencing it stops every queue. Promote another first, or pass --current."
            )
        ended = failover.fence(self._dsn, state, AuditNote(ACTOR, options["reason"]), replaced_by)
        self.stdout.write(f"{state.name} takes no writes any more; {ended} sessions were ended.")

    def _unfence(self, options: dict[str, Any]) -> None:
        state = self._taking_writes(options["host"])
        if failover.successor(self._states, state):
            raise CommandError(f"{state.name} was replaced: make it a standby of the new primary instead.")
        failover.unfence(self._dsn, state, AuditNote(ACTOR, options["reason"]))
        self.stdout.write(f"{state.name} may be written to again.")

    def _taking_writes(self, host: str) -> HostState:
        for state in self._states:
            if host in (state.name, state.host.get("host")):
                if state.trouble:
                    raise CommandError(f"{state.name} cannot be reached: {state.trouble}")
                if state.role == "standby":
                    raise CommandError(f"{state.name} is a standby, and takes no writes.")
                return state
        raise CommandError(f"There is no host {host}: hosts: {', '.join(state.name for state in self._states)}.")
