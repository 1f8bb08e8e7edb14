"""Where a course of days is going, said only when chance would hardly do it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pipeline.analysis.analysis_models import Template

LEAST_CHANGE = 1.5
DEVIATIONS = 3.0

Trend = Template.Trend


def trend_of(days: Sequence[int]) -> Trend:
    """The later half of the days against the earlier one; of an odd number the day in the middle is left out."""
    half = len(days) // 2
    earlier, later = sum(days[:half]), sum(days[len(days) - half :])
    if not _differ(earlier, later):
        return Trend.STEADY
    if later > earlier:
        return Trend.RISING if sum(days[: len(days) - half]) else Trend.NEW
    return Trend.FALLING if sum(days[half:]) else Trend.GONE


def _differ(earlier: int, later: int) -> bool:
    low, high = sorted((earlier, later))
    return high >= LEAST_CHANGE * low and high - low > DEVIATIONS * math.sqrt(high + low)
