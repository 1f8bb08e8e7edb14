"""Tables of measurements for people."""

from collections.abc import Iterable, Sequence


def table_line(cells: Iterable[str], widths: Sequence[int], names: int = 1) -> str:
    """Align the first `names` cells to the left, and the numbers after them to the right."""
    placed = [
        cell.ljust(width) if place < names else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "".join(placed).rstrip()


def ratio(value: float, reference: float) -> str:
    """Ratio of a value to the reference."""
    return f"{value / reference:.2f}" if reference else "-"  # the reference is too small to measure
