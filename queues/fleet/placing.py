"""Changes of the directory, in its home: cells are added, and queues are placed on them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import transaction
from psycopg.conninfo import conninfo_to_dict

from queues import audit
from queues.control.queues import get_queue
from queues.database.query import fetch, verb_rows, verb_value
from queues.errors import InvalidArgument
from queues.fleet.cells import connected
from queues.fleet.copying import copy_to
from queues.fleet.directory import Cell, directory, get_cell, get_directory
from queues.fleet.moves import Move, start
from queues.fleet.moving import advance
from signalbox.fleet.map import PARTITIONS

MAX_KEY = 2**62


def add_cell(name: str, url: str, region: str = "", *, actor: str) -> Cell:
    """Add the database at `url` to the fleet under this name, or change the address of that cell.

    The first cell is this database itself: it becomes the home of the directory. Raises InvalidArgument.
    """
    cell = Cell(_checked_name(name), _checked_url(url), region)
    here = directory()
    with connected(cell) as other:
        is_this = _is_this_database(other)
        if here is None and not is_this:
            raise InvalidArgument("url leads to another database: first add this one, as the home", field="url")
        if here is not None and is_this != (here.cell == name):
            raise InvalidArgument(f"url leads to the cell {here.cell!r}" if is_this else _LEADS_AWAY, field="url")
        home = here.home if here else name
        _enter(cell, home, other if not is_this else None, actor)
    if not is_this:
        copy_to(cell)
    return cell


def _enter(cell: Cell, home: str, other: psycopg.Connection[Any] | None, actor: str) -> None:
    """Let the other database join before the directory names it; without one, this database joins."""
    if other is not None:
        other.execute("select signalbox._fleet_join(%s, %s)", [cell.name, home])
    with transaction.atomic():
        if other is None:
            verb_rows("select signalbox._fleet_join(%s, %s)", cell.name, home)
        verb_rows("select signalbox.fleet_add(%s, %s, %s)", cell.name, cell.url, cell.region)
        audit.record(actor, "fleet.add", details={"cell": cell.name, "url": cell.url, "region": cell.region})


def place(queue: str, names: Sequence[str], *, actor: str, reason: str = "") -> list[Move]:
    """Place a queue of this cell on these cells, an equal range of partitions each; returns the moves to the others.

    The queue is made in each cell with the settings that it has here. If the queue is empty, its moves end at once; if
    not, this cell first hands out its messages.
    """
    get_directory()
    known = [get_cell(name) for name in dict.fromkeys(names)]
    if not known:
        raise InvalidArgument("cells must name at least one cell", field="cells")
    with transaction.atomic():
        template = get_queue(queue)
        verb_value("select signalbox.fleet_place(%s)", queue)
        audit.record(actor, "fleet.place", template, reason, {"cells": [cell.name for cell in known]})
    started: list[Move] = []
    for index, cell in enumerate(known):
        share = range(index * PARTITIONS // len(known), (index + 1) * PARTITIONS // len(known))
        started += start(queue, share, cell.name, actor=actor, reason=reason)
    return [advance(move.move_id) for move in started]


_LEADS_AWAY = "url leads to another database than the cell of this name: give another name"


def _is_this_database(other: psycopg.Connection[Any]) -> bool:
    """Return whether the connection leads to this database: a lock that is taken here is then taken there."""
    key = secrets.randbelow(MAX_KEY)
    with transaction.atomic():
        fetch("select pg_advisory_xact_lock(%s)", [key])
        row = other.execute("select pg_try_advisory_xact_lock(%s)", [key]).fetchone()
    return row == (False,)


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name):
        raise InvalidArgument(
            f"name is {name[:80]!r}: a cell has 1 to 63 letters, digits, dots, dashes and underscores", field="name"
        )
    return name


def _checked_url(url: str) -> str:
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidArgument(f"url is no address of a database: {error}", field="url") from None
    if parameters.get("password"):
        raise InvalidArgument(
            "url has a password, which every sender could read: leave it out, each program uses its own",
            field="url",
        )
    return url
