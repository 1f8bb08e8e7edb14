"""Prometheus' text format, written by hand: at thousands of queues formatting is what a reading costs.

Tests read every page back with prometheus_client's parser.
"""

from __future__ import annotations

from collections.abc import Iterable

from metrics.names import Metric
from queues.durations import BOUNDS, Spread

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


def labels(names: Iterable[str], values: Iterable[str]) -> str:
    """As they stand between the braces."""
    return ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True))


def sample(metric: Metric, inside: str, value: float) -> str:
    """One line; `inside` is what stands between the braces."""
    return f"{metric.name}{{{inside}}} {value}\n" if inside else f"{metric.name} {value}\n"


def upper_bounds(seconds: Iterable[float]) -> tuple[str, ...]:
    """As the label `le` says them, the last one without a bound."""
    return (*(f"{bound:g}" for bound in seconds), "+Inf")


_BOUNDS = upper_bounds(BOUNDS)


def histogram(metric: Metric, inside: str, spread: Spread, bounds: tuple[str, ...] = _BOUNDS) -> str:
    """Its buckets, cumulative, its sum and its count; one line each."""
    name, before = metric.name, f"{inside}," if inside else ""
    braces = f"{{{inside}}}" if inside else ""
    counts = spread.cumulative()
    lines = [f'{name}_bucket{{{before}le="{le}"}} {count}\n' for le, count in zip(bounds, counts, strict=True)]
    return f"{''.join(lines)}{name}_sum{braces} {spread.seconds}\n{name}_count{braces} {counts[-1]}\n"


class Page:
    """Lines by metric: the format wants those of one metric together."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._lines: dict[Metric, list[str]] = {metric: [] for metric in metrics}

    def add(self, metric: Metric, value: float, *values: str) -> None:
        """One sample, with the values of the metric's labels."""
        self._lines[metric].append(sample(metric, labels(metric.labels, values), value))

    def add_lines(self, metric: Metric, lines: str) -> None:
        self._lines[metric].append(lines)

    def encoded(self) -> bytes:
        return "".join(
            f"# HELP {metric.name} {metric.help.translate(_HELP_ESCAPES)}\n# TYPE {metric.name} {metric.type}\n"
            + "".join(lines)
            for metric, lines in self._lines.items()
        ).encode()
