"""An alert as a row: one for each time it fired, whoever found out.

Queues are named, not referred to: an alert outlives its queue, and Prometheus may speak of one that never was here.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

NAME_CHARACTERS = 200
TEXT_CHARACTERS = 2_000


class Alert(models.Model):
    """One firing of one alert. Written by `metrics.alerts.receiving` and `metrics.alerts.evaluating` alone."""

    class Source(models.TextChoices):
        PROMETHEUS = "prometheus"
        CONSOLE = "console"

    class State(models.TextChoices):
        PENDING = "pending"  # the condition holds, not yet for long enough
        FIRING = "firing"
        RESOLVED = "resolved"

    alert_id = models.BigAutoField(primary_key=True)
    source = models.CharField(max_length=10, choices=Source.choices)
    fingerprint = models.CharField(max_length=64)
    """What tells one alert from another within its source: Alertmanager's, or one of the console's own."""
    state = models.CharField(max_length=8, choices=State.choices)
    name = models.CharField(max_length=NAME_CHARACTERS)
    severity = models.CharField(max_length=20, db_default="")
    tenant_name = models.CharField(max_length=100, db_default="")
    queue_name = models.CharField(max_length=100, db_default="")
    summary = models.CharField(max_length=TEXT_CHARACTERS, db_default="")
    description = models.CharField(max_length=TEXT_CHARACTERS, db_default="")
    runbook_url = models.CharField(max_length=TEXT_CHARACTERS, db_default="")
    labels = models.JSONField(db_default={})
    starts_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_default=Now())
    """When its source last spoke of it."""
    resolved_at = models.DateTimeField(null=True)
    calm_since = models.DateTimeField(null=True)
    """Fires on although its condition has not held since then: it may come back at once."""
    notified_at = models.DateTimeField(null=True)
    """When people were first told that it fires; null while nobody was."""

    class Meta:
        db_table = "alert"
        constraints = [models.UniqueConstraint(fields=["source", "fingerprint", "starts_at"], name="alert_once")]
        indexes = [
            models.Index(fields=["starts_at"], name="alert_open", condition=~models.Q(state="resolved")),
            models.Index(fields=["-alert_id"], name="alert_over", condition=models.Q(state="resolved")),
            models.Index(fields=["queue_name", "-alert_id"], name="alert_queue"),
            models.Index(fields=["name", "-seen_at"], name="alert_name"),
            models.Index(fields=["seen_at"], name="alert_seen"),
        ]

    def __str__(self) -> str:
        return self.name
