"""Drawing of subscriptions: a box for each queue and stream, to the right of its sources, joined by lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metrics.diagnosis.thresholds import BACKLOG_SECONDS
from queues.control.subscriptions import Feed

BOX_WIDTH, BOX_HEIGHT = 180, 28
COLUMN_STEP, ROW_STEP = 280, 44
GAP = COLUMN_STEP - BOX_WIDTH
LABEL_HEIGHT = 14
MAX_BOXES = 60
"""The maximum number of boxes in a picture. The list below the picture has all subscriptions."""
MAX_CHARACTERS = 24


@dataclass(frozen=True)
class Box:
    """A queue or a stream in the picture."""

    name: str
    x: int
    y: int

    @property
    def label(self) -> str:
        """The name, cut to the width of the box."""
        return self.name if len(self.name) <= MAX_CHARACTERS else self.name[: MAX_CHARACTERS - 1] + "…"

    @property
    def middle(self) -> int:
        return self.y + BOX_HEIGHT // 2

    @property
    def text_y(self) -> int:
        return self.middle + 4


@dataclass(frozen=True)
class Line:
    """A subscription in the picture; `tone` is its colour: paused, late or in time."""

    path: str
    tone: str
    label: str
    x: int
    y: int


@dataclass(frozen=True)
class Picture:
    """Boxes and lines with the size of the whole."""

    boxes: Sequence[Box]
    lines: Sequence[Line]
    width: int
    height: int


def draw(feeds: Sequence[Feed]) -> Picture | None:
    """Draw the subscriptions; None if there are none, or too many boxes for a picture."""
    columns = _columns(feeds)
    if not columns or len(columns) > MAX_BOXES:
        return None
    boxes: dict[str, Box] = {}
    filled: dict[int, int] = {}
    for name in sorted(columns, key=lambda name: (columns[name], name)):
        row = filled.setdefault(columns[name], 0)
        filled[columns[name]] += 1
        boxes[name] = Box(name.partition(":")[2], columns[name] * COLUMN_STEP + 1, row * ROW_STEP + 1)
    lines = _spread([_line(feed, boxes[_source(feed)], boxes[f"queue:{feed.target}"]) for feed in feeds])
    width = max(columns.values()) * COLUMN_STEP + BOX_WIDTH + 2
    return Picture(list(boxes.values()), lines, width, max(filled.values()) * ROW_STEP)


def _source(feed: Feed) -> str:
    return f"stream:{feed.source}" if feed.group else f"queue:{feed.source}"


def _columns(feeds: Sequence[Feed]) -> Mapping[str, int]:
    """Return the column of each name: one to the right of its rightmost source. Subscriptions form no circles."""
    columns = {name: 0 for feed in feeds for name in (_source(feed), f"queue:{feed.target}")}
    for _ in columns:
        moved = False
        for feed in feeds:
            column = columns[_source(feed)] + 1
            if columns[f"queue:{feed.target}"] < column:
                columns[f"queue:{feed.target}"], moved = column, True
        if not moved:
            break
    return columns


def _line(feed: Feed, source: Box, target: Box) -> Line:
    start, end = source.x + BOX_WIDTH, target.x
    half = (start + end) // 2
    path = f"M{start} {source.middle}C{half} {source.middle} {half} {target.middle} {end} {target.middle}"
    is_late = feed.lag_seconds >= BACKLOG_SECONDS
    tone = "scheduled" if feed.paused else "bad" if is_late else "done"
    label = "paused" if feed.paused else f"{feed.lag:,}" if feed.lag else ""
    x = end - GAP // 2  # in the gap before the target's column
    return Line(path, tone, label, x, _height_at(x, source, target) - 4)


def _height_at(x: int, source: Box, target: Box) -> int:
    """Return the y coordinate at `x` of the line between two boxes."""
    start, end = source.x + BOX_WIDTH, target.x
    steps = [step / 64 for step in range(65)]
    nearest = min(steps, key=lambda t: abs(start + (end - start) * (1.5 * t * (1 - t) + t**3) - x))
    return round(source.middle + (target.middle - source.middle) * (3 - 2 * nearest) * nearest**2)


def _spread(lines: Sequence[Line]) -> list[Line]:
    """Move labels down until none overlaps another."""
    spread: list[Line] = []
    for line in sorted(lines, key=lambda line: (line.x, line.y)):
        taken = [one.y for one in spread if one.label and one.x == line.x]
        lowest = max(taken, default=line.y - LABEL_HEIGHT) + LABEL_HEIGHT
        spread.append(replace(line, y=max(line.y, lowest)) if line.label else line)
    return spread
