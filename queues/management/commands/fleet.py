"""manage.py fleet add | status | place | move | moves | rebalance | run: cells, and which queue is where."""

import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from queues import fleet
from queues.commands import ACTOR, VerbCommand
from queues.fleet import reporting
from queues.fleet.rebalancing import proposals, rebalance
from queues.fleet.running import run, wait_for
from queues.stopping import Stopping, on_signals


class Command(VerbCommand):
    help = "Manage a fleet: several databases, the cells, over which queues are placed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        add = verbs.add_parser("add", help="add a cell; the first one is this database, the home of the directory")
        add.add_argument("name", help="name of the cell")
        add.add_argument("url", help="its database (postgresql://...) without a password")
        add.add_argument("--region", default="", help="where it stands")
        status = verbs.add_parser("status", help="the cells, where each queue is, and moves under way")
        place = verbs.add_parser("place", help="place a queue on cells, an equal range of its 64 partitions on each")
        place.add_argument("queue", help="a queue of this cell")
        place.add_argument("cells", nargs="+", metavar="CELL", help="names of cells")
        move = verbs.add_parser("move", help="move partitions of a queue to a cell; `fleet run` carries it out")
        move.add_argument("queue", help="a queue that was placed")
        move.add_argument("--partitions", required=True, metavar="RANGES", help="such as 0-15,20")
        move.add_argument("--to", required=True, metavar="CELL", help="name of the new cell")
        move.add_argument("--wait", action="store_true", help="carry it out here, and return when it has ended")
        move.add_argument("--dry-run", action="store_true", help="print what it would touch, and how long it takes")
        moves = verbs.add_parser("moves", help="list moves; pause, resume or cancel one")
        change = moves.add_mutually_exclusive_group()
        for name in ("pause", "resume", "cancel"):
            change.add_argument(f"--{name}", type=int, metavar="MOVE", help=f"{name} this move")
        level = verbs.add_parser("rebalance", help="enter moves that level the load of cells; `fleet run` does them")
        level.add_argument("--dry-run", action="store_true", help="print them, and enter none")
        runner = verbs.add_parser("run", help="carry out moves, and bring the directory to every cell, until stopped")
        runner.add_argument("--once", action="store_true", help="take each move one step, and end")
        for verb in (place, move, moves, level):
            verb.add_argument("--reason", default="", help="kept in the audit")
        for verb in (add, status, place, move, moves, level):
            verb.add_argument("--json", action="store_true", help="print JSON")

    def _add(self, options: dict[str, Any]) -> None:
        cell = fleet.add_cell(options["name"], options["url"], options["region"], actor=ACTOR)
        self._write(options, reporting.of_cell(cell, fleet.copy_to_all()))

    def _place(self, options: dict[str, Any]) -> None:
        fleet.place(options["queue"], options["cells"], actor=ACTOR, reason=options["reason"])
        self._write(options, reporting.of_queue(options["queue"], fleet.copy_to_all()))

    def _status(self, options: dict[str, Any]) -> None:
        self._write(options, reporting.of_fleet())

    def _move(self, options: dict[str, Any]) -> None:
        queue, partitions, cell = options["queue"], fleet.parsed(options["partitions"]), options["to"]
        if options["dry_run"]:
            self._write(options, reporting.of_impact(fleet.impact(queue, partitions, cell)))
            return
        started = fleet.start(queue, partitions, cell, actor=ACTOR, reason=options["reason"])
        if options["wait"]:
            started = wait_for(started, _stopping())
        self._write(options, reporting.of_moves(started))

    def _moves(self, options: dict[str, Any]) -> None:
        named = {"actor": ACTOR, "reason": options["reason"]}
        if (move_id := options["pause"]) is not None:
            changed = [fleet.pause(move_id, True, **named)]
        elif (move_id := options["resume"]) is not None:
            changed = [fleet.pause(move_id, False, **named)]
        elif (move_id := options["cancel"]) is not None:
            changed = [fleet.cancel(move_id, **named)]
        else:
            changed = fleet.moves()
        self._write(options, reporting.of_moves(changed))

    def _rebalance(self, options: dict[str, Any]) -> None:
        proposed = proposals()
        if not options["dry_run"]:
            rebalance(proposed, actor=ACTOR, reason=options["reason"])
        self._write(options, reporting.of_proposals(proposed))

    def _run(self, options: dict[str, Any]) -> None:
        if not fleet.get_directory().is_home:
            raise CommandError(f"Moves run in the directory's home, {fleet.get_directory().home}.")
        if options["once"]:
            fleet.run_moves()
            return
        run(_stopping())

    def _write(self, options: dict[str, Any], report: reporting.Report) -> None:
        self.stdout.write(report.json if options["json"] else report.text)


def _stopping() -> Stopping:
    stopping = Stopping()
    on_signals(stopping.set, signal.SIGINT, signal.SIGTERM)
    return stopping
