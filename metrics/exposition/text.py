"""Prometheus' text format, written without a library: with thousands of queues, formatting is most of a reading's cost.

Tests read every page back with prometheus_client's parser.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from metrics.names.metric import Metric, Reading, Value
from queues.counters.durations import Exemplar, Spread

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


@dataclass(frozen=True)
class Style:
    """Optional parts of a page."""

    detailed: bool = True
    """Write every bucket of histograms, and rare counters at 0."""
    exemplars: bool = False
    """Write the trace of a recent observation after its bucket; only OpenMetrics has such exemplars."""


PLAIN, LEAN, TRACED = Style(), Style(detailed=False), Style(exemplars=True)


def samples(metrics: Collection[Metric[Reading]], reading: Reading, *subject: str, style: Style = PLAIN) -> list[str]:
    """Write the samples of one reading: a text for each metric, with a line for each series.

    `subject` are the values of the labels that all series of the reading have, such as tenant and queue.
    """
    written, inside, before = [], None, ""
    for metric in metrics:
        if inside is None:
            inside = _labels(metric.labels[: len(subject)], subject)
            before = f"{inside}," if inside else ""
        values = metric.read(reading)
        if isinstance(values, dict):
            names = metric.labels[len(subject) :]
            shown = values if style.detailed else _without_rare(metric, values)
            lines = [_lines(metric, before + _labels(names, own), value, style) for own, value in shown.items()]
            written.append("".join(lines))
        elif not style.detailed and not values and metric.is_rare():
            written.append("")
        else:
            written.append(_lines(metric, inside, values, style))
    return written


def _without_rare(metric: Metric[Any], values: dict[Any, Value]) -> dict[Any, Value]:
    return {own: value for own, value in values.items() if value or not metric.is_rare(*own)}


@lru_cache(maxsize=4_096)
def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Write labels as Prometheus has them between braces."""
    return ",".join([f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True)])


def _lines(metric: Metric[Any], inside: str, value: Value, style: Style) -> str:
    if isinstance(value, Spread):
        return _histogram(metric, inside, value, style)
    if value is None:  # no number is better than a wrong one
        return ""
    return f"{metric.name}{{{inside}}} {value}\n" if inside else f"{metric.name} {value}\n"


def _histogram(metric: Metric[Any], inside: str, spread: Spread, style: Style) -> str:
    """Write the cumulative buckets, the sum and the count; without detail only the mandatory bucket `+Inf`."""
    name, before, counts = metric.name, f"{inside}," if inside else "", spread.cumulative()
    braces = f"{{{inside}}}" if inside else ""
    bounds = _upper_bounds(metric.bounds)
    buckets = [f'{name}_bucket{{{before}le="{le}"}} {count}\n' for le, count in zip(bounds, counts, strict=True)]
    if not style.detailed:
        buckets = buckets[-1:]
    if style.exemplars:
        buckets = [_with_exemplar(*pair) for pair in zip_longest(buckets, spread.exemplars)]
    return f"{''.join(buckets)}{name}_sum{braces} {spread.seconds}\n{name}_count{braces} {counts[-1]}\n"


def _with_exemplar(line: str, exemplar: Exemplar | None) -> str:
    if exemplar is None:
        return line
    return f'{line[:-1]} # {{trace_id="{exemplar.trace_id}"}} {exemplar.seconds} {exemplar.at:.3f}\n'


@lru_cache
def _upper_bounds(seconds: tuple[float, ...]) -> tuple[str, ...]:
    """Write the upper bounds for the label `le`; the last one is +Inf."""
    return (*(f"{bound:g}" for bound in seconds), "+Inf")


class Page:
    """A page that is being written. It keeps lines by metric, because the format wants those of one metric together."""

    def __init__(self) -> None:
        self._lines: dict[Metric[Any], list[str]] = {}

    def add(self, metrics: Collection[Metric[Reading]], reading: Reading, *subject: str, style: Style = PLAIN) -> None:
        """Add every sample of these metrics; a metric without samples is still declared."""
        self.add_lines(metrics, samples(metrics, reading, *subject, style=style))

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


_COUNTER = re.compile(rb"^(# (?:HELP|TYPE) \S+)_total ", re.MULTILINE)
_HELP = re.compile(rb"^# HELP .*\"", re.MULTILINE)


def as_openmetrics(plain: bytes) -> bytes:
    """Convert a page to OpenMetrics: no `_total` in declarations of counters, escaped quotes in helps, an end mark."""
    return _HELP.sub(lambda line: line[0].replace(b'"', rb"\""), _COUNTER.sub(rb"\1 ", plain)) + b"# EOF\n"
