"""Staged messages, chosen from the archive to be sent again: a frozen set of rows, and the row that owns them.

`dlq.staging` is the door to both. Rows come in while the set is being filled, leave one by one as they are sent, and
never change.
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
    token = models.CharField(max_length=32)  # of the attempt that may write
    kinds = models.JSONField(db_default=[])  # folders of the archive
    since = models.DateTimeField(null=True)  # of what ended from then on
    until = models.DateTimeField(null=True)
    run_id = models.BigIntegerField(null=True)  # the pipeline's run that staged it
    rows = models.BigIntegerField(db_default=0)
    bytes = models.BigIntegerField(db_default=0)  # of payloads and attributes, as they are staged
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)  # from then on what is left of it is cleared away

    class Meta:
        db_table = "staging"
        indexes = [models.Index(fields=["expires_at"], name="staging_not_gone", condition=~models.Q(state="gone"))]

    def __str__(self) -> str:
        return f"staging #{self.staging_id}"


class StagedMessage(models.Model):
    """A message as the archive has it. Its id is the one that it had; the order of ids is that of sending."""

    pk = models.CompositePrimaryKey("staging_id", "message_id")
    staging_id = models.BigIntegerField()
    message_id = models.BigIntegerField()
    part = models.IntegerField()  # which task wrote it
    kind = models.TextField()
    queue = models.TextField(null=True)
    tenant = models.TextField(null=True)
    ended_at = models.DateTimeField()
    outcome = models.TextField()  # how it ended; of a dead letter the error's class or the reason
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
