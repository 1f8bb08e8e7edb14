"""One row while maintenance is on, and none while it is not."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class Maintenance(models.Model):
    """Who holds the installation still, why, and until when it was announced. Written by two functions in SQL."""

    maintenance_id = models.SmallIntegerField(primary_key=True, db_default=1)
    started_at = models.DateTimeField(db_default=Now())
    started_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500)
    until = models.DateTimeField(null=True)
    """When people were told that it ends. It does not end by itself: whoever works on something may be late."""
    holds_claims = models.BooleanField()
    refuses_sends = models.BooleanField()

    class Meta:
        db_table = "maintenance"
        constraints = [models.CheckConstraint(condition=models.Q(maintenance_id=1), name="maintenance_is_one")]

    def __str__(self) -> str:
        return f"maintenance by {self.started_by}"

    def overdue(self, now: datetime | None = None) -> timedelta:
        """How long it goes on beyond what was announced."""
        late = (now or timezone.now()) - self.until if self.until else timedelta(0)
        return max(late, timedelta(0))

    @property
    def effects(self) -> list[str]:
        """What it does, beside keeping everybody but administrators from changing anything."""
        held = ["no messages are handed out"] if self.holds_claims else []
        return held + (["sends are refused"] if self.refuses_sends else [])
