"""Metric: a name with its type, labels, help and reading, and how one is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from queues.counters.durations import BOUNDS, Spread

PREFIX = "signalbox_"

Reading = TypeVar("Reading")

Value = float | Spread | None
"""A number, the counts of a histogram, or None when the value is unknown."""
Values = Value | dict[Any, Value]
"""A value, or a value for each tuple of the labels that follow those of the subject."""


@dataclass(frozen=True, eq=False)
class Metric(Generic[Reading]):
    """One metric. Queries use its `name`; those of a histogram append _bucket, _sum or _count."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    help: str
    read: Callable[[Reading], Values]
    bounds: tuple[float, ...] = BOUNDS
    """The upper bounds of a histogram's buckets, without the last one, which has none."""
    is_rare: Callable[..., bool] = lambda *labels: False
    """Whether most queues have the value 0. Then only queues that are shown in detail export a 0."""


def gauge(name: str, text: str, read: Callable[[Reading], Values], *labels: str) -> Metric[Reading]:
    return Metric(PREFIX + name, "gauge", labels, text, read)


def counter(name: str, text: str, read: Callable[[Reading], Values], *labels: str) -> Metric[Reading]:
    return Metric(f"{PREFIX}{name}_total", "counter", labels, text, read)


def histogram(
    name: str, text: str, read: Callable[[Reading], Values], *labels: str, bounds: tuple[float, ...] = BOUNDS
) -> Metric[Reading]:
    return Metric(PREFIX + name, "histogram", labels, text, read, bounds)


def with_labels(subject: tuple[str, ...], metrics: Iterable[Metric[Reading]]) -> tuple[Metric[Reading], ...]:
    """Put the labels of the subject before each metric's own labels."""
    return tuple(replace(metric, labels=(*subject, *metric.labels)) for metric in metrics)


def by(values: Mapping[str, float]) -> Values:
    return {(label,): value for label, value in values.items()}


def by_slo(met: int, missed: int) -> Values:
    return {("met",): met, ("missed",): missed}
