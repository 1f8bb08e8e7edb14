"""Every metric of Signalbox, declared once: name, type, labels, help, and how its value is read.

The exporter exports these and nothing else. Tests compare dashboards, alert rules and docs/reference/metrics.md
with this list. To add a metric, add a line to the table of its subject; where no reading has its value yet, add the
value to that reading (`metrics/reading/`).
"""

from __future__ import annotations

from typing import Any

from metrics.names.cells import CELL_METRICS
from metrics.names.installation import INSTALLATION_METRICS, POSTGRES_METRICS, TENANT_REFUSALS
from metrics.names.metric import Metric
from metrics.names.process import API_METRICS, GROUPS_OMITTED, PROCESS_METRICS, QUEUES_OMITTED, STATE_METRICS
from metrics.names.queues import QUEUE_METRICS, SETTING_METRICS
from metrics.names.streams import GROUP_METRICS, STREAM_METRICS
from metrics.names.totals import FLEET_TOTALS, TENANT_TOTALS

__all__ = [
    "API_METRICS",
    "CELL_METRICS",
    "FLEET_TOTALS",
    "GROUPS_OMITTED",
    "GROUP_METRICS",
    "INSTALLATION_METRICS",
    "METRICS",
    "POSTGRES_METRICS",
    "PROCESS_METRICS",
    "QUEUES_OMITTED",
    "QUEUE_METRICS",
    "SETTING_METRICS",
    "STATE_METRICS",
    "STREAM_METRICS",
    "TENANT_REFUSALS",
    "TENANT_TOTALS",
    "Metric",
]

METRICS: tuple[Metric[Any], ...] = (
    *QUEUE_METRICS,
    *SETTING_METRICS,
    *TENANT_TOTALS,
    *FLEET_TOTALS,
    *TENANT_REFUSALS,
    *INSTALLATION_METRICS,
    *POSTGRES_METRICS,
    *CELL_METRICS,
    *STREAM_METRICS,
    *GROUP_METRICS,
    *PROCESS_METRICS,
    *API_METRICS,
    *STATE_METRICS,
    QUEUES_OMITTED,
    GROUPS_OMITTED,
)
