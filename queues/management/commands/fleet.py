"""manage.py fleet add | status | place: the cells of a fleet, and which queue is where."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from queues import fleet
from queues.commands import ACTOR, VerbCommand


class Command(VerbCommand):
    help = "Manage a fleet: several databases, the cells, over which queues are placed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        add = verbs.add_parser("add", help="add a cell; the first one is this database, the home of the directory")
        add.add_argument("name", help="name of the cell")
        add.add_argument("url", help="its database (postgresql://...) without a password")
        add.add_argument("--region", default="", help="where it stands")
        status = verbs.add_parser("status", help="the cells, and where each queue is")
        place = verbs.add_parser("place", help="place a queue on cells, its 64 partitions dealt to them in turn")
        place.add_argument("queue", help="a queue of this cell; on several cells only an empty one")
        place.add_argument("cells", nargs="+", metavar="CELL", help="names of cells")
        place.add_argument("--reason", default="", help="kept in the audit")
        for verb in (add, status, place):
            verb.add_argument("--json", action="store_true", help="print JSON")

    def _add(self, options: dict[str, Any]) -> None:
        cell = fleet.add_cell(options["name"], options["url"], options["region"], actor=ACTOR)
        copied = fleet.copy_to_all()
        self._write(
            options,
            {"cell": asdict(cell), "copies": [asdict(copy) for copy in copied]},
            [f"{cell.name} is a cell of the fleet of {fleet.get_directory().home}.", *map(_copy, copied)],
        )

    def _place(self, options: dict[str, Any]) -> None:
        version = fleet.place(options["queue"], options["cells"], actor=ACTOR, reason=options["reason"])
        copied = fleet.copy_to_all()
        placed = fleet.placements(options["queue"])
        self._write(
            options,
            {
                "version": version,
                "placements": [_placement_document(placement) for placement in placed],
                "copies": [asdict(copy) for copy in copied],
            },
            [*map(_placement, placed), *map(_copy, copied)],
        )

    def _status(self, options: dict[str, Any]) -> None:
        here = fleet.get_directory()
        states = fleet.states()
        placed = fleet.placements()
        self._write(
            options,
            {
                "cell": here.cell,
                "home": here.home,
                "version": here.version,
                "cells": [asdict(state) | {"state": state.state} for state in states],
                "placements": [_placement_document(placement) for placement in placed],
            },
            [
                f"This is {here.cell}. The directory is written in {here.home}; version {here.version}.",
                *map(_state, states),
                *map(_placement, placed),
            ],
        )

    def _write(self, options: dict[str, Any], document: dict[str, Any], lines: list[str]) -> None:
        self.stdout.write(
            json.dumps(document, indent=2) if options["json"] else "\n".join(line for line in lines if line)
        )


def _placement_document(placement: fleet.Placement) -> dict[str, Any]:
    return asdict(placement) | {"ranges": placement.ranges}


def _placement(placement: fleet.Placement) -> str:
    words = {
        "settled": f"on {placement.cell}",
        "closing": f"on the way from {placement.from_cell} to {placement.cell}",
        "draining": f"on {placement.cell}, while {placement.from_cell} hands out what it has",
    }
    return f"{placement.queue}: {placement.ranges} {words[placement.state]} (epoch {placement.epoch})"


def _state(state: fleet.CellState) -> str:
    if state.load is None:
        return f"{state.cell.name}: silent: {state.error}"
    load = state.load
    return (
        f"{state.cell.name}: version {state.version}, {load.ready + load.waiting} messages ready or waiting, "
        f"{load.leased} in flight, {load.sends_per_second:.1f} sends/s, {load.receives_per_second:.1f} receives/s"
    )


def _copy(copy: fleet.Copied) -> str:
    return f"{copy.cell} has an older copy of the directory: {copy.error}" if copy.error else ""
