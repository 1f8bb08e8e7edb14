"""Streams and their groups as series; it computes nothing and asks nothing."""

from __future__ import annotations

from django.conf import settings

from metrics import names
from metrics.text import Page
from queues.streams import Streams

SERIES_OF_A_GROUP = 6


def add(page: Page, streams: Streams) -> None:
    """Every stream, and the groups that were made first, as many as METRICS_MAX_SERIES allows."""
    for stream, appended in streams.appended:
        page.add(names.STREAM_APPENDED, appended, stream.tenant.name, stream.name)
    shown = streams.groups[: settings.METRICS_MAX_SERIES // SERIES_OF_A_GROUP]
    for numbers in shown:
        stream = numbers.group.stream
        labels = (stream.tenant.name, stream.name, numbers.group.name)
        page.add(names.GROUP_LAG_MESSAGES, numbers.lag_messages, *labels)
        page.add(names.GROUP_LAG_SECONDS, numbers.lag_seconds, *labels)
        page.add(names.GROUP_MEMBERS, numbers.members, *labels)
        page.add(names.GROUP_COMMITTED_OFFSET, numbers.committed, *labels)
        page.add(names.GROUP_LOST_MESSAGES, numbers.lost, *labels)
        page.add(names.GROUP_LAG_THRESHOLD, stream.alert_group_lag_seconds, *labels)
    page.add(names.EXPORTER_GROUPS_OMITTED, len(streams.groups) - len(shown))
