"""Redrive over cells: a row that names the plan of each cell. Each cell keeps the state of its own redrive."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now


class FleetRedrive(models.Model):
    """Redrive over cells, kept in the cell in which it was planned."""

    fleet_redrive_id = models.BigAutoField(primary_key=True)
    filter_text = models.TextField(db_default="")
    plans = models.JSONField(db_default={})  # the plan of each cell that has some of the messages, by the cell's name
    left_out = models.JSONField(db_default={})  # cells that could not plan their part, with the reason
    created_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "fleet_redrive"

    def __str__(self) -> str:
        return f"fleet redrive #{self.pk}"

    def summary(self) -> dict[str, Any]:
        """Return the details for the audit."""
        return {"fleet_redrive_id": self.pk, "filter": self.filter_text, "plans": self.plans}
