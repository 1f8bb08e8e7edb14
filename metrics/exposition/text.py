"""Prometheus' text format, written by hand: at thousands of queues formatting is what a reading costs.

Tests read every page back with prometheus_client's parser.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from metrics.names import Metric, Reading, Value
from queues.counters.durations import Spread

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


def samples(metrics: Collection[Metric[Reading]], reading: Reading, *subject: str) -> list[str]:
    """Write each metric's samples of one reading, whose subject has these labels: one line for each series."""
    written, inside, before = [], None, ""
    for metric in metrics:
        if inside is None:
            inside = _labels(metric.labels[: len(subject)], subject)
            before = f"{inside}," if inside else ""
        values = metric.read(reading)
        if isinstance(values, dict):
            names = metric.labels[len(subject) :]
            lines = [_lines(metric, before + _labels(names, own), value) for own, value in values.items()]
            written.append("".join(lines))
        else:
            written.append(_lines(metric, inside, values))
    return written


@lru_cache(maxsize=4_096)
def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Write labels as they stand between the braces."""
    return ",".join([f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True)])


def _lines(metric: Metric[Any], inside: str, value: Value) -> str:
    if isinstance(value, Spread):
        return _histogram(metric, inside, value)
    if value is None:  # no number is better than a wrong one
        return ""
    return f"{metric.name}{{{inside}}} {value}\n" if inside else f"{metric.name} {value}\n"


def _histogram(metric: Metric[Any], inside: str, spread: Spread) -> str:
    """Write the buckets, cumulative, the sum and the count."""
    name, before, counts = metric.name, f"{inside}," if inside else "", spread.cumulative()
    braces = f"{{{inside}}}" if inside else ""
    bounds = _upper_bounds(metric.bounds)
    buckets = [f'{name}_bucket{{{before}le="{le}"}} {count}\n' for le, count in zip(bounds, counts, strict=True)]
    return f"{''.join(buckets)}{name}_sum{braces} {spread.seconds}\n{name}_count{braces} {counts[-1]}\n"


@lru_cache
def _upper_bounds(seconds: tuple[float, ...]) -> tuple[str, ...]:
    """Write bounds as the label `le` has them, the last one without a bound."""
    return (*(f"{bound:g}" for bound in seconds), "+Inf")


class Page:
    """A page in the making: lines by metric, since the format keeps those of one metric together."""

    def __init__(self) -> None:
        self._lines: dict[Metric[Any], list[str]] = {}

    def add(self, metrics: Collection[Metric[Reading]], reading: Reading, *subject: str) -> None:
        """Add every sample of these metrics; a metric without samples is still declared."""
        self.add_lines(metrics, samples(metrics, reading, *subject))

    def declare(self, metrics: Iterable[Metric[Any]]) -> None:
        """Declare metrics that may get no sample."""
        for metric in metrics:
            self._lines.setdefault(metric, [])

    def add_lines(self, metrics: Collection[Metric[Any]], written: Iterable[str]) -> None:
        """Add rendered lines, one text for each metric."""
        for metric, text in zip(metrics, written, strict=True):
            self._lines.setdefault(metric, []).append(text)

    def encoded(self) -> bytes:
        return "".join(
            f"# HELP {metric.name} {metric.help.translate(_HELP_ESCAPES)}\n# TYPE {metric.name} {metric.type}\n"
            + "".join(lines)
            for metric, lines in self._lines.items()
        ).encode()
