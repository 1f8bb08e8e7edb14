"""The results of the last failure analysis, each of which replaces the one before.

Templates of errors, and what sets the failures of a cause apart.
"""

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

    template = models.CharField(max_length=40, primary_key=True, help_text="The fingerprint without a stack.")
    run = models.ForeignKey("pipeline.Run", on_delete=models.CASCADE, related_name="templates")
    reason = models.TextField()
    error_class = models.TextField(null=True)
    error = models.TextField(null=True, help_text="With what differs between occurrences taken out; it may quote.")
    failures = models.BigIntegerField(help_text="Failed deliveries.")
    deaths = models.BigIntegerField(help_text="Those that were the last.")
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    trend = models.CharField(max_length=10, choices=Trend.choices)
    days: models.JSONField[Any, Any] = models.JSONField(help_text="Failures of each day of the window.")
    queue_count = models.BigIntegerField()
    tenant_count = models.BigIntegerField()
    fingerprint_count = models.BigIntegerField()
    queues: models.JSONField[Any, Any] = models.JSONField(help_text="Those with the most: name, tenant, failures.")
    fingerprints: models.JSONField[Any, Any] = models.JSONField(help_text="Those with the most.")

    class Meta:
        db_table = "pipeline_template"
        indexes = [models.Index(fields=["-failures", "template"], name="pipeline_template_failures")]

    def __str__(self) -> str:
        return self.template


def trend_of(days: Sequence[int]) -> Template.Trend:
    """The later half of the days against the earlier one, reported only when chance would hardly cause it.

    Of an odd number the day in the middle is left out.
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
    """The messages that died of a cause in a queue, beside those that succeeded there: how many were compared."""

    pk = models.CompositePrimaryKey("cause", "queue_id")
    cause = models.TextField(help_text="A fingerprint, or that of the failure group into which it was merged.")
    queue_id = models.IntegerField()
    run = models.ForeignKey("pipeline.Run", on_delete=models.CASCADE, related_name="comparisons")
    failures = models.BigIntegerField()
    failures_unread = models.BigIntegerField(help_text="Too large to be looked at.")
    successes = models.BigIntegerField()
    successes_unread = models.BigIntegerField()
    tests = models.BigIntegerField(help_text="How many things were compared.")

    class Meta:
        db_table = "pipeline_comparison"

    def __str__(self) -> str:
        return f"{self.cause} in {self.queue_id}"


class Finding(models.Model):
    """One thing that failures of a cause in a queue say more often than what succeeded there."""

    pk = models.CompositePrimaryKey("cause", "queue_id", "place")
    cause = models.TextField()
    queue_id = models.IntegerField()
    place = models.IntegerField(help_text="From 1, the strongest.")
    run = models.ForeignKey("pipeline.Run", on_delete=models.CASCADE, related_name="findings")
    path: models.JSONField[Any, Any] = models.JSONField(help_text="Part, then keys; null is any element of a list.")
    kind = models.CharField(max_length=10, help_text="See pipeline.analysis.features.")
    value = models.TextField()
    failures_with = models.BigIntegerField()
    successes_with = models.BigIntegerField()

    class Meta:
        db_table = "pipeline_finding"

    def __str__(self) -> str:
        return f"{self.kind} of {self.path}"
