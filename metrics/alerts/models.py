"""Alerts as rows: one for each time that an alert fired, from either source.

Queues are named, not referenced: an alert outlives its queue, and Prometheus may name a queue of another installation.
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
    """The identity of an alert within its source: given by Alertmanager, or computed by Signalbox."""
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
    """When the source last reported the alert."""
    resolved_at = models.DateTimeField(null=True)
    calm_since = models.DateTimeField(null=True)
    """Since when the condition of a firing alert has not held; null while it holds."""
    notified_at = models.DateTimeField(null=True)
    """When people were first notified; null before that."""
    acknowledged_by = models.CharField(max_length=150, db_default="")
    """The person who acknowledged the alert; empty before that."""
    acknowledged_at = models.DateTimeField(null=True)

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


class Silence(models.Model):
    """No notification about matching alerts until it ends. A pattern is a name in which * is any text; empty is any."""

    silence_id = models.BigAutoField(primary_key=True)
    alert_pattern = models.CharField(max_length=NAME_CHARACTERS, db_default="")
    queue_pattern = models.CharField(max_length=100, db_default="")
    comment = models.CharField(max_length=500)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(db_default=Now())
    ends_at = models.DateTimeField()
    ended_by = models.CharField(max_length=150, db_default="")
    """The person who ended it early; empty otherwise."""

    class Meta:
        db_table = "alert_silence"
        indexes = [models.Index(fields=["ends_at"], name="alert_silence_ends")]

    def __str__(self) -> str:
        return " of ".join((self.alert_pattern or "*", self.queue_pattern or "*"))


class AlertChannel(models.Model):
    """A receiver of notifications that an administrator set up. Written by `metrics.alerts.channels` alone."""

    class Kind(models.TextChoices):
        MAIL = "mail"
        WEBHOOK = "webhook"
        SLACK = "slack"

    channel_id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    name = models.CharField(max_length=100, unique=True)
    shown = models.CharField(max_length=TEXT_CHARACTERS)
    """The address without its secret part: mail addresses, or the host name of a URL."""
    sealed = models.TextField()
    """The address and the signing secret, encrypted."""
    severities = models.JSONField()
    queue_pattern = models.CharField(max_length=100, db_default="")
    tenant_pattern = models.CharField(max_length=100, db_default="")
    enabled = models.BooleanField()
    version = models.IntegerField(db_default=1)
    """Counts the changes. A change by a person who saw an older version is refused."""
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField(db_default=Now())
    last_sent_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=TEXT_CHARACTERS, db_default="")
    """The error of the last attempt; empty when it arrived."""
    last_error_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "alert_channel"

    def __str__(self) -> str:
        return self.name


class Notification(models.Model):
    """One notification to one channel: written with its alerts, and tried until it arrives."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"  # not tried again

    notification_id = models.BigAutoField(primary_key=True)
    channel = models.CharField(max_length=10, choices=AlertChannel.Kind.choices)
    target = models.CharField(max_length=TEXT_CHARACTERS)
    """Mail addresses, or a URL, which may contain a secret. Of a channel of the console, its name."""
    alert_channel = models.BigIntegerField(null=True)
    """The number of a channel of the console, which may have been removed; null for a channel of the settings."""
    news = models.JSONField()
    """The document that `metrics.alerts.message_text` writes."""
    state = models.CharField(max_length=8, choices=State.choices, db_default=State.WAITING)
    attempts = models.IntegerField(db_default=0)
    due_at = models.DateTimeField(db_default=Now())
    last_error = models.CharField(max_length=TEXT_CHARACTERS, db_default="")
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "alert_notification"
        indexes = [
            models.Index(fields=["due_at"], name="alert_notification_due", condition=models.Q(state="waiting")),
            models.Index(fields=["created_at"], name="alert_notification_created"),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.notification_id}"


class Evaluation(models.Model):
    """The last evaluation of the conditions by Signalbox: one row at most."""

    evaluation_id = models.SmallIntegerField(primary_key=True, db_default=1)
    evaluated_at = models.DateTimeField()
    evaluator = models.CharField(max_length=200)
    """The process that evaluated."""
    seconds = models.FloatField()

    class Meta:
        db_table = "alert_evaluation"

    def __str__(self) -> str:
        return self.evaluator
