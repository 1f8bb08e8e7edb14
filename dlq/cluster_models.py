"""What people know about clusters of failures, beside what upkeep counts: written by `dlq.clusters.care` alone."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ClusterCare(models.Model):
    """Who cares for a cluster, what they found out, and how far they are. No row: nobody has looked yet."""

    class State(models.TextChoices):
        OPEN = "open"
        ACKNOWLEDGED = "acknowledged"
        RESOLVED = "resolved"

    fingerprint = models.TextField(primary_key=True)
    note = models.TextField(db_default="")
    owner = models.CharField(max_length=150, db_default="")
    runbook_url = models.CharField(max_length=500, db_default="")
    state = models.CharField(max_length=12, choices=State.choices, db_default=State.OPEN)
    state_changed_at = models.DateTimeField(null=True)
    state_changed_by = models.CharField(max_length=150, db_default="")

    class Meta:
        db_table = "cluster_care"

    def __str__(self) -> str:
        return self.fingerprint


class ClusterMember(models.Model):
    """A fingerprint that somebody found to be of the same cause as another: it counts there, now and in future."""

    fingerprint = models.TextField(primary_key=True)
    head = models.TextField(db_index=True)
    merged_at = models.DateTimeField(db_default=Now())
    merged_by = models.CharField(max_length=150)

    class Meta:
        db_table = "cluster_member"

    def __str__(self) -> str:
        return f"{self.fingerprint} of {self.head}"
