"""Drawing of who feeds whom: boxes in columns, each to the right of those that feed it, joined by lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metrics.diagnosis.thresholds import BACKLOG_SECONDS
from queues.control.subscriptions import Feed

BOX_WIDTH, BOX_HEIGHT = 180, 28
COLUMN_STEP, ROW_STEP = 280, 44
MAX_BOXES = 60
"""The most boxes in a picture. The list below it has everything."""
MAX_CHARACTERS = 24


@dataclass(frozen=True)
class Box:
    """A queue or a stream in the picture."""

    name: str
    x: int
    y: int

    @property
    def label(self) -> str:
        """The name as far as the box has room."""
        return self.name if len(self.name) <= MAX_CHARACTERS else self.name[: MAX_CHARACTERS - 1] + "…"

    @property
    def middle(self) -> int:
        return self.y + BOX_HEIGHT // 2

    @property
    def text_y(self) -> int:
        return self.middle + 4


@dataclass(frozen=True)
class Line:
    """A subscription in the picture; `tone` says whether it moves."""

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
    """Draw the feeds; None without any, or with more queues than a picture can show."""
    columns = _columns(feeds)
    if not columns or len(columns) > MAX_BOXES:
        return None
    boxes: dict[str, Box] = {}
    filled: dict[int, int] = {}
    for name in sorted(columns, key=lambda name: (columns[name], name)):
        row = filled.setdefault(columns[name], 0)
        filled[columns[name]] += 1
        boxes[name] = Box(name.partition(":")[2], columns[name] * COLUMN_STEP + 1, row * ROW_STEP + 1)
    lines = [_line(feed, boxes[_source(feed)], boxes[f"queue:{feed.target}"]) for feed in feeds]
    width = max(columns.values()) * COLUMN_STEP + BOX_WIDTH + 2
    return Picture(list(boxes.values()), lines, width, max(filled.values()) * ROW_STEP)


def _source(feed: Feed) -> str:
    return f"stream:{feed.source}" if feed.group else f"queue:{feed.source}"


def _columns(feeds: Sequence[Feed]) -> Mapping[str, int]:
    """Find the column of each name: one to the right of the last that feeds it. There are no circles."""
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
    return Line(path, tone, label, half, (source.middle + target.middle) // 2 - 4)
