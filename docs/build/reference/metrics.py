"""Every metric, from `metrics/names/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docs.build.markdown import linked, table
from metrics import names

GROUPS = (
    ("Queues", names.QUEUE_METRICS),
    ("Settings of queues", names.SETTING_METRICS),
    ("Tenants", (*names.TENANT_TOTALS, *names.TENANT_REFUSALS)),
    ("The whole installation", (*names.FLEET_TOTALS, *names.INSTALLATION_METRICS)),
    ("Streams", (*names.STREAM_METRICS, *names.GROUP_METRICS)),
    ("PostgreSQL", names.POSTGRES_METRICS),
    ("This process", (*names.PROCESS_METRICS, *names.API_METRICS)),
    ("The exporter", (*names.STATE_METRICS, names.QUEUES_OMITTED, names.GROUPS_OMITTED)),
)


def tables() -> str:
    """Return a table for each group of metrics."""
    rest = set(names.METRICS) - {metric for _, metrics in GROUPS for metric in metrics}
    groups = [*GROUPS, *([("Others", [metric for metric in names.METRICS if metric in rest])] if rest else [])]
    return "\n\n".join(f"## {title}\n\n{_table(metrics)}" for title, metrics in groups)


def _table(metrics: Iterable[names.Metric[Any]]) -> str:
    return table(
        ("metric", "type", "labels", "meaning"),
        (
            (
                f"`{metric.name}`",
                metric.type,
                ", ".join(f"`{label}`" for label in metric.labels),
                linked(metric.help, "reference"),
            )
            for metric in metrics
        ),
    )
