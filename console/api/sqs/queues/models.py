"""The table of what only SQS knows of a queue. A queue without a row has the defaults."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class SqsQueue(models.Model):
    """Attributes without a setting of the engine, tags, and the time of the last purge by SQS."""

    queue_id = models.IntegerField(primary_key=True)
    attributes = models.JSONField(default=dict)
    tags = models.JSONField(default=dict)
    changed_at = models.DateTimeField(db_default=Now())
    purged_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "sqs_queue"
        default_permissions = ()

    def __str__(self) -> str:
        return f"SQS's view of the queue {self.queue_id}"
