"""The plan as a row: what somebody looked at before a bulk action, kept as it was seen. Written once, never changed."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from dlq.plan_options import Options
from dlq.staging_models import Staging


class PlanIsWritten(TypeError):  # noqa: N818 - it names what happened
    """A plan is not changed: whoever wants another makes another."""


class Plan(models.Model):
    """What a filter selected at a moment, and what running it would mean.

    Both bounds are ids: of dead letters, or of what is staged.
    """

    class Kind(models.TextChoices):
        REDRIVE = "redrive"
        DELETION = "deletion"

    plan_id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Kind.choices, db_default=Kind.REDRIVE)
    filter_text = models.TextField(db_default="")
    as_of = models.DateTimeField(help_text="Ages in the filter count up to here.")
    lower_bound = models.BigIntegerField()
    upper_bound = models.BigIntegerField(help_text="What dies later has a higher id and is not touched.")
    count = models.BigIntegerField(db_default=0)
    count_is_exact = models.BooleanField(db_default=False, help_text="False: there are more than that.")
    radius = models.JSONField(db_default={}, help_text="Whom it touches: see dlq.radius.")
    sample_ids = models.JSONField(db_default=[], help_text="The newest few, by dead-letter id.")
    options = models.JSONField(db_default={}, help_text="See dlq.plan_options.")
    staging = models.ForeignKey(
        Staging, on_delete=models.PROTECT, null=True, related_name="plans", help_text="Empty: it selects dead letters."
    )
    created_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "plan"

    def __str__(self) -> str:
        return f"plan #{self.plan_id}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise PlanIsWritten(PlanIsWritten.__doc__)
        super().save(*args, **kwargs)

    @property
    def choices(self) -> Options:
        return Options.from_json(self.options)

    @property
    def source_queues(self) -> list[str]:
        """Where those that were looked at died, most of them first."""
        return [name for name, _ in self.radius.get("sources", [])]

    def summary(self) -> dict[str, Any]:
        """What the audit keeps of it."""
        return {
            "plan_id": self.plan_id,
            "kind": self.kind,
            "filter": self.filter_text,
            "upper_bound": self.upper_bound,
            "count": self.count,
            **({"staging_id": self.staging_id} if self.staging_id else {}),
            "options": {name: value for name, value in self.options.items() if value},
        }
