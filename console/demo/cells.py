"""The cells of the demo after the first: each is an embedded server of its own, with its upkeep.

One queue is placed on all cells, and some of its partitions move. A cell stops when its upkeep ends: kill that process
to see how the other cells go on without it.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError

from console.environment import variables_of_parts
from console.server.parts import MANAGE
from console.server.supervisor import Part
from queues import fleet
from queues.control.queues import create_queue
from queues.database.embedded import EmbeddedPostgres
from queues.fleet import Placement
from signalbox.fleet.client import FleetClient
from signalbox.fleet.map import SCHEME, partition_of

QUEUE = "page-views"
SENT_PER_SECOND = 15.0
MAX_CELLS = 8
DOWN_SECONDS = 60.0
"""Seconds after which a killed cell starts again."""
MOVED_PARTITIONS = 8
DELAYED_MESSAGES = 120
LONGEST_DELAY_SECONDS = 1_800.0
"""The longest delay of the messages in the old cell. The move lasts until that cell has delivered them."""


@dataclass(frozen=True)
class DemoCell:
    """One cell after the first, and the environment of its processes."""

    name: str
    server: EmbeddedPostgres
    environment: Mapping[str, str]

    @property
    def part(self) -> Part:
        """The upkeep process of the cell. When it ends, the cell's server ends too, because nothing else uses it."""
        command = [sys.executable, MANAGE, "upkeep"]
        return Part(self.name, command, environment=self.environment, down_seconds=DOWN_SECONDS)


def build(count: int) -> list[DemoCell]:
    """Start and migrate the cells after the first, and place a queue on all. A fleet keeps the cells that it has."""
    count = max(count, len(fleet.cells()))
    if count == 1:
        return []
    home = _home()
    others = [_cell(home, f"cell-{number}") for number in range(2, count + 1)]
    _migrate(others)
    servers = {"cell-1": EmbeddedPostgres(home), **{cell.name: cell.server for cell in others}}
    for name, server in servers.items():
        fleet.add_cell(name, server.url(), actor="demo")
    if not fleet.placements(QUEUE):
        create_queue(QUEUE, {}, tenant="acme", actor="demo")
        fleet.place(QUEUE, list(servers), actor="demo")
    if not fleet.moves(active=True):
        _start_move(list(servers))
    return others


def parts(cells: Sequence[DemoCell]) -> list[Part]:
    """Return the processes of the cells, and the one that carries out moves; none where there is one cell."""
    runner = Part("fleet", [sys.executable, MANAGE, "fleet", "run"])
    return [*(cell.part for cell in cells), runner] if cells else []


def leave(cells: Sequence[DemoCell]) -> None:
    """Disconnect this process from the servers, so that each lives as long as its upkeep."""
    for cell in cells:
        cell.server.leave()


def lines(running: Sequence[Part]) -> str:
    """Return the lines of the welcome about cells; none where there is one cell."""
    return "".join(
        f"  {part.name}       `kill {part.process.pid}` stops it for {DOWN_SECONDS:.0f} s; see /fleet\n"
        for part in running
        if part.name.startswith("cell-") and part.process
    )


def address() -> str | None:
    """Return the address for clients of the fleet; None where there is one cell."""
    return SCHEME + EmbeddedPostgres(_home()).url().removeprefix("postgresql") if fleet.directory() else None


def _home() -> Path:
    home: Path | None = settings.DATABASES["default"].get("EMBEDDED_HOME")
    if home is None:
        raise CommandError("The cells of the demo are embedded servers: unset DATABASE_URL.")
    return home


def _cell(home: Path, name: str) -> DemoCell:
    folder = home / "cells" / name
    server = EmbeddedPostgres(folder)
    server.ensure_running()
    return DemoCell(name, server, {"SIGNALBOX_HOME": str(folder)})


def _migrate(cells: Sequence[DemoCell]) -> None:
    """Migrate the schema of all cells at the same time."""
    command = [sys.executable, MANAGE, "migrate", "--verbosity", "0"]
    running = [(cell, subprocess.Popen(command, env=variables_of_parts({}, **cell.environment))) for cell in cells]
    failed = [cell.name for cell, process in running if process.wait()]
    if failed:
        raise CommandError(f"The schema of {', '.join(failed)} could not be brought up to date.")


def _start_move(names: Sequence[str]) -> None:
    """Move a part of the queue to the next cell. Delayed messages stay in the old one until they are due."""
    first: Placement = fleet.placements(QUEUE)[0]
    moving = first.partitions[:MOVED_PARTITIONS]
    target = names[(names.index(first.cell) + 1) % len(names)]
    seed = EmbeddedPostgres(_home()).url()
    with FleetClient(seed) as client:
        for _ in range(DELAYED_MESSAGES):
            view = {"path": "/cart", "milliseconds": random.randint(20, 900)}
            delay = random.uniform(5, LONGEST_DELAY_SECONDS)
            client.send(QUEUE, view, delay_seconds=delay, group_id=_visitor_of(moving))
    fleet.start(QUEUE, moving, target, actor="demo", reason="level the cells")


def _visitor_of(partitions: Sequence[int]) -> str:
    """Return a group of one of these partitions."""
    groups = [f"visitor-{number}" for number in range(1, 1001)]
    return random.choice([group for group in groups if partition_of(group) in partitions])
