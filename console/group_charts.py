"""The charts of one group: how far behind it was, in messages and in time, and who read."""

from __future__ import annotations

from datetime import timedelta

from console import charts, wording
from console.charts import Chart, Series
from console.ranges import Range
from console.time_axis import TimeAxis
from queues import group_history
from queues.stream_models import ConsumerGroup


def draw(group: ConsumerGroup, shown: Range) -> list[Chart]:
    """Lag in messages, lag in time with what is allowed, members."""
    steps = group_history.read(group.group_id, shown.start, shown.end, shown.step_seconds)
    while len(steps) > 1 and shown.name and steps[-1].lag_messages is None:
        steps = steps[:-1]  # not recorded yet
    times = [step.at for step in steps]
    axis = TimeAxis(times[0], times[-1], timedelta(seconds=shown.step_seconds))
    allowed = group.stream.alert_group_lag_seconds
    behind = [step.lag_seconds for step in steps]
    near = max((value for value in behind if value is not None), default=0.0) > allowed / 4
    each = wording.span(shown.step_seconds)
    return [
        charts.draw(
            "Lag in messages",
            times,
            [Series("behind", "ready", [step.lag_messages for step in steps], filled=True)],
            subtitle=f"the highest of each {each}",
            axis=axis,
        ),
        charts.draw(
            "Lag in time",
            times,
            [Series("oldest not committed", "leased", behind, filled=True)],
            subtitle=f"its age; {wording.span(allowed)} allowed",
            say=wording.span,
            threshold=allowed if near else None,
            axis=axis,
        ),
        charts.draw(
            "Members",
            times,
            [Series("reading", "scheduled", [step.members for step in steps])],
            subtitle=f"the most of each {each}",
            axis=axis,
        ),
    ]
