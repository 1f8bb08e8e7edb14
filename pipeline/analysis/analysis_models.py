"""Results of the last failure analysis: templates of errors, and comparisons of failures with successes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from django.db import models

LEAST_CHANGE = 1.5
DEVIATIONS = 3.0


class Template(models.Model):
    """The common form of similar errors, over all queues and the days of the analysis."""

    class Trend(models.TextChoices):
        NEW = "new"
        RISING = "rising"
        STEADY = "steady"
        FALLING = "falling"
        GONE = "gone"

    template = models.CharField(max_length=40, primary_key=True)  # fingerprint without a stack
    run = models.ForeignKey("pipeline.Run", on_delete=models.CASCADE, related_name="templates")
    reason = models.TextField()
    error_class = models.TextField(null=True)
    error = models.TextField(null=True)  # normalized error, which may quote values
    failures = models.BigIntegerField()  # failed deliveries
    deaths = models.BigIntegerField()  # last deliveries of dead letters
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    trend = models.CharField(max_length=10, choices=Trend.choices)
    days: models.JSONField[Any, Any] = models.JSONField()  # failures of each day of the window
    queue_count = models.BigIntegerField()
    tenant_count = models.BigIntegerField()
    fingerprint_count = models.BigIntegerField()
    queues: models.JSONField[Any, Any] = models.JSONField()  # queues with the most failures
    fingerprints: models.JSONField[Any, Any] = models.JSONField()  # fingerprints with the most failures

    class Meta:
        db_table = "pipeline_template"
        indexes = [models.Index(fields=["-failures", "template"], name="pipeline_template_failures")]

    def __str__(self) -> str:
        return self.template


def trend_of(days: Sequence[int]) -> Template.Trend:
    """Compare the later half of the days with the earlier one; a change that chance explains is steady.

    The middle day of an odd number of days is left out.
    """
    half = len(days) // 2
    earlier, later = sum(days[:half]), sum(days[len(days) - half :])
    low, high = sorted((earlier, later))
    if high < LEAST_CHANGE * low or high - low <= DEVIATIONS * math.sqrt(high + low):
        return Template.Trend.STEADY
    if later > earlier:
        return Template.Trend.RISING if sum(days[: len(days) - half]) else Template.Trend.NEW
    return Template.Trend.FALLING if sum(days[half:]) else Template.Trend.GONE


class Comparison(models.Model):
    """Numbers of the dead letters of a cause in a queue, and of the acknowledged messages, that were compared."""

    pk = models.CompositePrimaryKey("cause", "queue_id")
    cause = models.TextField()  # fingerprint of the failure group
    queue_id = models.IntegerField()
    run = models.ForeignKey("pipeline.Run", on_delete=models.CASCADE, related_name="comparisons")
    failures = models.BigIntegerField()
    failures_unread = models.BigIntegerField()  # messages too large to be read
    successes = models.BigIntegerField()
    successes_unread = models.BigIntegerField()
    tests = models.BigIntegerField()  # number of compared features

    class Meta:
        db_table = "pipeline_comparison"

    def __str__(self) -> str:
        return f"{self.cause} in {self.queue_id}"


class Finding(models.Model):
    """A feature that failures of a cause in a queue have more often than the queue's acknowledged messages."""

    pk = models.CompositePrimaryKey("cause", "queue_id", "place")
    cause = models.TextField()
    queue_id = models.IntegerField()
    place = models.IntegerField()  # 1 is the strongest finding
    run = models.ForeignKey("pipeline.Run", on_delete=models.CASCADE, related_name="findings")
    path: models.JSONField[Any, Any] = models.JSONField()  # part, then keys; null is any list element
    kind = models.CharField(max_length=10)  # see pipeline.analysis.features
    value = models.TextField()
    failures_with = models.BigIntegerField()
    successes_with = models.BigIntegerField()

    class Meta:
        db_table = "pipeline_finding"

    def __str__(self) -> str:
        return f"{self.kind} of {self.path}"
