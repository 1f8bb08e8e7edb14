"""The copy of the directory in this cell: the cells, and where the partitions of each queue are."""

from __future__ import annotations

from dataclasses import dataclass

from queues.database.query import fetch, query_text
from queues.errors import InvalidArgument


@dataclass(frozen=True)
class Directory:
    """The cell that this database is, and the age of its copy of the directory."""

    cell: str
    home: str
    """The cell in which the directory is written."""
    version: int
    age_seconds: float
    """The time since something was entered in this copy."""

    @property
    def is_home(self) -> bool:
        """Return whether the directory is written here."""
        return self.cell == self.home


@dataclass(frozen=True)
class Cell:
    """One cell of the fleet. Its address has no password."""

    name: str
    url: str
    region: str


@dataclass(frozen=True)
class Placement:
    """Partitions of one queue that have one cell and one state."""

    queue: str
    is_fifo: bool
    cell: str
    """The cell that takes sends; while closing, the cell that will."""
    from_cell: str | None
    """The cell that had these partitions before, and may still hand out their messages."""
    state: str
    """settled, closing (no cell takes sends), or draining (`from_cell` hands out what it has)."""
    epoch: int
    partitions: tuple[int, ...]

    @property
    def ranges(self) -> str:
        """Write the partitions as people do: 0-15,20."""
        return written(self.partitions)


def directory() -> Directory | None:
    """Read which cell this is; None where this database is in no fleet."""
    rows = fetch(query_text("fleet/directory"))
    return Directory(*rows[0]) if rows else None


def get_directory() -> Directory:
    """Read which cell this is, as `directory` does; raises InvalidArgument where there is no fleet."""
    if (found := directory()) is None:
        raise InvalidArgument("this database is in no fleet: add it with `manage.py fleet add`", field="fleet")
    return found


def cells() -> list[Cell]:
    """List the cells of the fleet by name."""
    return [Cell(*row) for row in fetch(query_text("fleet/cells"))]


def get_cell(name: str) -> Cell:
    """Find a cell by its name; raises InvalidArgument."""
    known = cells()
    for cell in known:
        if cell.name == name:
            return cell
    names = ", ".join(cell.name for cell in known) or "none"
    raise InvalidArgument(f"cell is {name[:80]!r}: the fleet has {names}", field="cell")


def placements(queue: str | None = None) -> list[Placement]:
    """List where the partitions of every placed queue are, or of one queue."""
    rows = fetch(query_text("fleet/placements"), {"queue": queue})
    return [Placement(*(*row[:-1], tuple(row[-1]))) for row in rows]


def written(partitions: tuple[int, ...]) -> str:
    """Write sorted numbers as ranges: 0-15,20."""
    ranges: list[list[int]] = []
    for number in partitions:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
