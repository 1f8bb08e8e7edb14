"""manage.py clock show | reset: report and reset an engine's clock that is ahead of the database server's."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from datetime import datetime
from typing import Any

from queues.commands import ACTOR, VerbCommand
from queues.control import clock
from queues.control.clock import ClockState


class Command(VerbCommand):
    help = "Show how far the engine's clock is ahead of the database server's, or reset it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("show", help="show the lead of the clock and the rows that it delays; changes nothing")
        show.add_argument("--json", action="store_true", help="print JSON")
        reset = verbs.add_parser("reset", help="set it to the server's clock, which must be right again")
        reset.add_argument("--yes", action="store_true", help="reset the clock (default: only print the plan)")
        reset.add_argument(
            "--release-delayed",
            action="store_true",
            help="make delayed messages with an unknown time due now (default: they wait for the clock's former time)",
        )
        reset.add_argument(
            "--ahead-until",
            type=datetime.fromisoformat,
            metavar="TIME",
            help="after a reset: the clock's former time, to reset rows that open transactions had locked",
        )
        reset.add_argument("--reason", default="", help="why, for the audit")

    def _show(self, options: dict[str, Any]) -> None:
        state = clock.state()
        if options["json"]:
            row = asdict(state) | {"ahead_until": state.ahead_until.isoformat(), "is_ahead": state.is_ahead}
            self.stdout.write(json.dumps(row, indent=2))
        else:
            self._say(state)

    def _reset(self, options: dict[str, Any]) -> None:
        if not options["yes"]:
            self._say(clock.state(options["ahead_until"]))
            self.stdout.write("Nothing was changed; --yes resets the clock.")
            return
        done = clock.reset(
            actor=ACTOR,
            reason=options["reason"],
            release_delayed=options["release_delayed"],
            ahead_until=options["ahead_until"],
        )
        self._say(done)
        self.stdout.write("The clock was reset.")
        if done.unknown:
            what = "are due now" if options["release_delayed"] else f"stay scheduled until {_time(done)}"
            self.stdout.write(f"{done.unknown:,} delayed messages whose time is not known {what}.")
        if done.left:
            self.stdout.write(
                f"{done.left:,} messages were locked by open transactions. When these have ended, run"
                f" manage.py clock reset --yes --ahead-until {done.ahead_until.isoformat()}"
            )

    def _say(self, state: ClockState) -> None:
        if not state.is_ahead:
            self.stdout.write(f"The engine's clock is {state.ahead_seconds:.1f} s ahead, as it may be.")
        else:
            self.stdout.write(f"The engine's clock is {state.ahead_seconds:,.0f} s ahead: it stands at {_time(state)}.")
        self.stdout.write(
            f"Put off by it: {state.leased:,} leases, {state.scheduled:,} retries and delayed messages,"
            f" {state.unknown:,} delayed messages whose time is not known."
            f" Dated ahead: {state.ready:,} ready and {state.waiting:,} waiting messages."
        )


def _time(state: ClockState) -> str:
    return state.ahead_until.isoformat(timespec="seconds")
