"""The picture of the rooms and their imports: `docs/images/rooms.svg`.

A room is a package at the root. An arrow leads from a room to a room that it imports. No room imports one that is
drawn above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

import grimp

from docs.build.markdown import table
from docs.build.pages import ROOT

ROOMS = ("console", "pipeline", "metrics", "dlq", "queues", "signalbox")
PURPOSES = {
    "console": "web pages, HTTP API, Django project",
    "pipeline": "archive, rollups, analysis, replay",
    "metrics": "metrics, alerts, diagnosis",
    "dlq": "filters, redrives, trash, masking",
    "queues": "the engine: schema, SQL, upkeep",
    "signalbox": "the client to install",
}
NOT_A_ROOM = {"management", "migrations", "static", "sql", "templatetags"}
STYLE = "text { font: 14px sans-serif; fill: #1f2937 } .small { font-size: 11px; fill: #4b5563 }"
WIDTH, HEIGHT, FLOOR = 1000, 78, 170
LEFT = {"console": 20, "pipeline": 40, "dlq": 365, "metrics": 690, "queues": 190, "signalbox": 20}
RIGHT = {"console": 980, "pipeline": 310, "dlq": 635, "metrics": 960, "queues": 810, "signalbox": 980}
FLOORS = {"console": 0, "pipeline": 1, "dlq": 1, "metrics": 1, "queues": 2, "signalbox": 3}
GAPS = {"queues": 663, "signalbox": 338}  # between the rooms of the middle floor, for arrows past them
OUTSIDE = {"pipeline": 90, "dlq": 430, "metrics": 910}  # arrows past the engine; the one in the middle goes behind it

Arrows = Sequence[tuple[str, str]]


def pages() -> Iterator[tuple[str, str]]:
    """Return the picture of the rooms."""
    yield "docs/images/rooms.svg", _picture(_arrows())


def table_of_imports() -> str:
    """Return each room with its purpose, the rooms within it, and what it imports."""
    arrows = _arrows()
    return table(
        ("room", "what it is", "rooms within", "imports"),
        (
            (
                f"`{room}/`",
                PURPOSES[room],
                ", ".join(_within(room)),
                ", ".join(to for of, to in arrows if of == room) or "-",
            )
            for room in ROOMS
        ),
    )


@cache
def _arrows() -> Arrows:
    """Return (room, imported room) for each import between rooms, in the order of `ROOMS`."""
    graph = grimp.build_graph(*ROOMS, cache_dir=None)
    pairs = {
        (module.partition(".")[0], found.partition(".")[0])
        for module in graph.modules
        for found in graph.find_modules_directly_imported_by(module)
    }
    return [(of, to) for of in ROOMS for to in ROOMS if of != to and (of, to) in pairs]


def _within(room: str) -> list[str]:
    return sorted(
        path.name for path in (ROOT / room).iterdir() if (path / "__init__.py").exists() and path.name not in NOT_A_ROOM
    )


def _picture(arrows: Arrows) -> str:
    height = (max(FLOORS.values()) + 1) * FLOOR - 50
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>The rooms and which room imports which</title>",
            f"<style>{STYLE}</style>",
            '<marker id="tip" markerWidth="9" markerHeight="9" refX="8" refY="4" orient="auto">',
            '<path d="M0,0 L9,4 L0,8 z" fill="#6b7280"/></marker>',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *(_arrow(of, to) for of, to in arrows),
            *map(_box, ROOMS),
            "</svg>\n",
        ]
    )


def _top(room: str) -> int:
    return FLOORS[room] * FLOOR + 20


def _middle(room: str) -> int:
    return (LEFT[room] + RIGHT[room]) // 2


def _box(room: str) -> str:
    x, y = LEFT[room], _top(room)
    return (
        f'<rect x="{x}" y="{y}" width="{RIGHT[room] - x}" height="{HEIGHT}" rx="6" fill="#eef2ff" stroke="#4f46e5"/>'
        f'<text x="{x + 14}" y="{y + 30}"><tspan font-weight="bold">{room}/</tspan></text>'
        f'<text x="{x + 14}" y="{y + 54}" class="small">{escape(PURPOSES[room])}</text>'
    )


def _arrow(of: str, to: str) -> str:
    if FLOORS[of] > FLOORS[to]:
        raise ValueError(f"{of} imports {to}, which stands above it: imports run downward only")
    if FLOORS[of] == FLOORS[to]:
        y = _top(of) + HEIGHT // 2
        return _line(RIGHT[of], y, LEFT[to], y)
    x = _column(of, to)
    return _line(x, _top(of) + HEIGHT, x, _top(to))


def _column(of: str, to: str) -> int:
    """Return the horizontal position of a vertical arrow."""
    if of == "console":
        return GAPS.get(to) or _middle(to)
    if to == "signalbox" and of in OUTSIDE:
        return OUTSIDE[of]
    return {"pipeline": 250, "metrics": 750}.get(of, 500)


def _line(x1: int, y1: int, x2: int, y2: int) -> str:
    ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<line {ends} stroke="#6b7280" stroke-width="1.5" marker-end="url(#tip)"/>'
