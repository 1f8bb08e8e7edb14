"""The metrics of streams and their consumer groups."""

from __future__ import annotations

from metrics.names.metric import Metric, counter, gauge, with_labels
from metrics.reading.fleet import Fleet
from queues.control.streams import GroupNumbers

STREAM_METRICS: tuple[Metric[Fleet], ...] = (
    counter(
        "stream_messages_appended",
        "Positions of the stream that were given to messages, including those that were rolled back.",
        lambda fleet: {(stream.tenant.name, stream.name): appended for stream, appended in fleet.streams.appended},
        *("tenant", "stream"),
    ),
    counter(
        "stream_appends_deduplicated",
        "Appends answered with the place of an earlier message of the same deduplication id.",
        lambda fleet: {(stream.tenant.name, stream.name): count for stream, count in fleet.streams.deduplicated},
        *("tenant", "stream"),
    ),
)

GROUP_METRICS: tuple[Metric[GroupNumbers], ...] = with_labels(
    ("tenant", "stream", "group"),
    (
        gauge(
            "group_lag_messages",
            "Positions that the group has not committed, including those that were rolled back or are being appended.",
            lambda group: group.lag_messages,
        ),
        gauge(
            "group_lag_seconds",
            "The age of the oldest message that the group has not committed; 0 when there is none.",
            lambda group: group.lag_seconds,
        ),
        gauge("group_members", "Members of the group whose lease has not ended.", lambda group: group.members),
        gauge(
            "group_committed_offset",
            "The positions that the group has committed, all partitions added up.",
            lambda group: group.committed,
        ),
        gauge(
            "group_lost_messages",
            "Messages that retention dropped before the group read them, since the group was made.",
            lambda group: group.lost,
        ),
        gauge(
            "group_lag_threshold_seconds",
            "The stream's setting alert_group_lag_seconds: the alert on stalled groups fires above the value.",
            lambda group: group.group.stream.alert_group_lag_seconds,
        ),
    ),
)
