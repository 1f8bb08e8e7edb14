"""Measurements as lines of a table for people."""

from collections.abc import Iterable, Sequence


def table_line(cells: Iterable[str], widths: Sequence[int], names: int = 1) -> str:
    """The first `names` cells to the left of their columns, the numbers after them to the right."""
    placed = [
        cell.ljust(width) if place < names else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "".join(placed).rstrip()


def ratio(value: float, reference: float) -> str:
    """How many times the reference it is."""
    return f"{value / reference:.2f}" if reference else "-"  # too little to be measured
