"""The page *Fleet*: cells as they answer, where each queue is, moves, and moves that would level the cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access.roles import requires
from console.fleet import picture
from console.fleet.picture import Part, Run
from console.fleet.totals import Totals, total
from console.web import pagination
from console.web.htmx import render_page
from console.web.pagination import Pager
from console.web.sorting import Columns, arrange
from console.web.wording import plural
from queues import fleet
from queues.fleet import Directory, Move, Placement
from queues.fleet.balance import Limits
from queues.fleet.directory import written
from queues.fleet.readings import Reading, read_fleet
from queues.fleet.rebalancing import balance

PROPOSALS = Limits(moves=5)
MAX_ENDED = 10
"""The number of ended moves that the page shows; `manage.py fleet moves` lists all."""


@dataclass(frozen=True)
class CellLine:
    """One cell as the table shows it."""

    reading: Reading
    tone: str
    behind: int
    """The number of changes of the directory that this cell's copy does not have yet."""
    is_home: bool
    is_here: bool


@dataclass(frozen=True)
class QueueLine:
    """One placed queue as the page shows it: a picture, the same in words, and its numbers over all cells."""

    name: str
    runs: Sequence[Run]
    parts: Sequence[Part]
    totals: Totals


@dataclass(frozen=True)
class MoveLine:
    """One move. `percent` of the messages have left the old cell; None before the move drains that cell."""

    move: Move
    percent: int | None


def _load(name: str) -> Callable[[CellLine], float | None]:
    """Return a function that reads one number of a cell's load; its result is None while the load is unknown."""
    return lambda line: getattr(line.reading.answer.load, name) if line.reading.answer else None


COLUMNS: Columns[CellLine] = {
    "cell": lambda line: line.reading.cell.name,
    "state": lambda line: line.reading.state,
    "in": _load("sends_per_second"),
    "out": _load("receives_per_second"),
    "ready": _load("ready"),
    "in_flight": _load("leased"),
    "dead": _load("dead"),
    "directory": lambda line: line.behind,
}


@require_safe
@requires("see_metadata")
def show(request: HttpRequest) -> HttpResponse:
    """GET /fleet: the cells, the placements and the moves."""
    here = fleet.directory()
    context = {"title": "Fleet", "here": here, **(_context(request, here) if here else {})}
    return render_page(request, "fleet/show.html", "fleet/_state.html", context)


def _context(request: HttpRequest, here: Directory) -> dict[str, object]:
    readings, placed, moves = read_fleet(), fleet.placements(), fleet.moves()
    judged = balance(readings, placed, moves, PROPOSALS)
    colours = picture.tones([reading.cell.name for reading in readings])
    names = sorted({one.queue for one in placed})
    start, most = pagination.whole(request.GET.get("from", "")) or 0, pagination.size(request)
    start = start if start < len(names) else 0
    shown = set(names[start : start + most])
    cells = arrange(request, [_cell(reading, here, colours) for reading in readings], COLUMNS)
    return {
        "cells": cells.rows,
        "sort": cells.links,
        "answering": sum(not reading.is_silent for reading in readings),
        "silent": [reading for reading in readings if reading.is_silent],
        "totals": total(readings),
        "queues": _queues([one for one in placed if one.queue in shown], readings, colours),
        "queue_count": len(names),
        "pager": _pager(request, start, len(names), most),
        "moves": _moves(moves),
        "peak": judged.peak,
        "proposals": [(move, written(tuple(sorted(move.partitions)))) for move in judged.moves],
    }


def _cell(reading: Reading, here: Directory, colours: Mapping[str, str]) -> CellLine:
    name = reading.cell.name
    behind = max(0, here.version - reading.answer.version) if reading.answer else 0
    return CellLine(reading, colours[name], behind, name == here.home, name == here.cell)


def _queues(placed: Sequence[Placement], readings: Sequence[Reading], colours: Mapping[str, str]) -> list[QueueLine]:
    by_queue = groupby(sorted(placed, key=attrgetter("queue")), key=attrgetter("queue"))
    return [
        QueueLine(name, picture.runs(mine, colours), picture.parts(mine, colours), total(readings, name))
        for name, mine in ((name, list(of_queue)) for name, of_queue in by_queue)
    ]


def _moves(moves: Sequence[Move]) -> list[MoveLine]:
    """List the moves under way, then the last that ended."""
    ended = [one for one in moves if one.has_ended][:MAX_ENDED]
    return [MoveLine(one, _percent(one)) for one in [*(one for one in moves if not one.has_ended), *ended]]


def _percent(move: Move) -> int | None:
    if move.messages is None or move.messages_left is None:
        return None
    return 100 if not move.messages else round(100 * (move.messages - move.messages_left) / move.messages)


def _pager(request: HttpRequest, start: int, count: int, most: int) -> Pager:
    last = min(start + most, count)
    return Pager(
        f"{start + 1} to {last} of {plural(count, 'queue')}" if count else "no queues",
        before_url=pagination.address(request, {"from": str(max(start - most, 0))}) if start else "",
        after_url=pagination.address(request, {"from": str(last)}) if last < count else "",
        row_counts=pagination.row_counts(request, count),
    )
