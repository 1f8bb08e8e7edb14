"""Every name that a query may write, with its labels."""

from __future__ import annotations

from typing import Any

from metrics.names import METRICS, Metric


def series(metric: Metric[Any]) -> dict[str, tuple[str, ...]]:
    """The names that queries write, each with its labels."""
    if metric.type != "histogram":
        return {metric.name: metric.labels}
    parts = {"_bucket": (*metric.labels, "le"), "_sum": metric.labels, "_count": metric.labels}
    return {metric.name + part: labels for part, labels in parts.items()}


SERIES = {name: labels for metric in METRICS for name, labels in series(metric).items()}
