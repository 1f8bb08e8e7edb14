"""The metrics of this process and of the exporter."""

from __future__ import annotations

from metrics.names.metric import Metric, counter, gauge, histogram
from metrics.reading.api_requests import API_REQUESTS, SQS_ERRORS
from metrics.reading.api_requests import BOUNDS as API_BOUNDS
from metrics.reading.fleet import Exporter
from queues.counters.durations import Spread
from signalbox import durations as process

PROCESS_METRICS: tuple[Metric[None], ...] = (
    histogram(
        "publish_duration_seconds",
        "Duration of each send to the database, in this process.",
        lambda _: Spread(*process.PUBLISH.read()),
        bounds=process.BOUNDS,
    ),
    histogram(
        "receive_duration_seconds",
        "Duration of each request for messages, in this process, without the pauses of a long poll.",
        lambda _: Spread(*process.RECEIVE.read()),
        bounds=process.BOUNDS,
    ),
)
API_METRICS: tuple[Metric[None], ...] = (
    histogram(
        "api_request_duration_seconds",
        "Duration of a request to the HTTP API or the SQS endpoint, measured by this process; waits have routes of "
        "their own. Routes of the SQS endpoint are SQS and the name of the operation.",
        lambda _: API_REQUESTS.read(),
        *("route", "status"),
        bounds=API_BOUNDS,
    ),
    counter(
        "sqs_errors",
        "Refused requests to the SQS endpoint, and refused entries of batches, by the error's code, of this process.",
        lambda _: SQS_ERRORS.read(),
        *("operation", "code"),
    ),
)
STATE_METRICS: tuple[Metric[Exporter], ...] = (
    gauge(
        "exporter_up",
        "1 while the numbers are fresh; 0 when the database has not answered for 30 seconds.",
        lambda exporter: float(exporter.up),
    ),
    gauge(
        "exporter_last_refresh_timestamp_seconds",
        "Unix time at which the numbers were last read; 0 when never.",
        lambda exporter: exporter.fleet.read_at if exporter.fleet else 0.0,
    ),
    gauge(
        "exporter_refresh_duration_seconds",
        "How long the last reading of the numbers took.",
        lambda exporter: exporter.fleet.read_seconds if exporter.fleet else 0.0,
    ),
)
"""Metrics that are exported even when the database does not answer."""
QUEUES_OMITTED: Metric[Exporter] = gauge(
    "exporter_queues_omitted",
    "Queues without series of their own because METRICS_MAX_SERIES is reached; totals of tenants include them.",
    lambda exporter: exporter.queues_omitted,
)
GROUPS_OMITTED: Metric[Exporter] = gauge(
    "exporter_groups_omitted",
    "Groups of streams without series because METRICS_MAX_SERIES is reached.",
    lambda exporter: exporter.groups_omitted,
)
