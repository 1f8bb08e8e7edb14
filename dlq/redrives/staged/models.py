"""Staged messages: rows that a replay chose from the archive, and the row of their set.

Rows are added while the set is being filled, and deleted one by one as they are sent. They never change.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Staging(models.Model):
    """Set of staged messages: filled by writers with its token, frozen when a plan is made, then cleared."""

    class State(models.TextChoices):
        FILLING = "filling"
        FROZEN = "frozen"
        CLEARING = "clearing"
        GONE = "gone"

    staging_id = models.BigAutoField(primary_key=True)
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.FILLING)
    token = models.CharField(max_length=32)  # the token of the run that may write
    kinds = models.JSONField(db_default=[])  # folders of the archive
    since = models.DateTimeField(null=True)  # selects messages that ended at this time or later
    until = models.DateTimeField(null=True)
    run_id = models.BigIntegerField(null=True)  # the pipeline's run that staged it
    rows = models.BigIntegerField(db_default=0)
    bytes = models.BigIntegerField(db_default=0)  # bytes of payloads and attributes in the set
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)  # the time after which the set is deleted

    class Meta:
        db_table = "staging"
        indexes = [models.Index(fields=["expires_at"], name="staging_not_gone", condition=~models.Q(state="gone"))]

    def __str__(self) -> str:
        return f"staging #{self.staging_id}"


class StagedMessage(models.Model):
    """A message as the archive has it, with its original id. Messages are sent in the order of ids."""

    pk = models.CompositePrimaryKey("staging_id", "message_id")
    staging_id = models.BigIntegerField()
    message_id = models.BigIntegerField()
    part = models.IntegerField()  # the number of the task that wrote it
    kind = models.TextField()
    queue = models.TextField(null=True)
    tenant = models.TextField(null=True)
    ended_at = models.DateTimeField()
    outcome = models.TextField()  # the outcome; of a dead letter the error class or the reason
    fingerprint = models.TextField(null=True)
    receive_count = models.SmallIntegerField(null=True)
    payload = models.TextField()
    attributes = models.TextField(null=True)
    group_id = models.TextField(null=True)
    deduplication_id = models.TextField(null=True)
    trace_id = models.TextField(null=True)
    priority = models.SmallIntegerField()
    sent_at = models.DateTimeField(null=True)
    body_sha256 = models.BinaryField(null=True)
    body_bytes = models.BigIntegerField(null=True)

    class Meta:
        db_table = "staged_message"

    def __str__(self) -> str:
        return f"{self.message_id} of staging #{self.staging_id}"
