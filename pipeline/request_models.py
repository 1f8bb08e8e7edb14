"""Requests for runs, as rows with the kind, the arguments and the person. A task has only the id of the row."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now


class RunRequest(models.Model):
    """One request for a run. A worker takes it once and empties its arguments; the run's own row has the outcome."""

    class Kind(models.TextChoices):
        ARCHIVE = "archive"
        ROLLUP = "rollup"
        REPLAY = "replay"
        ANALYSE = "analyse", "Analysis"

    class State(models.TextChoices):
        REQUESTED = "requested"
        TAKEN = "taken"
        REFUSED = "refused", "Refused: no worker could be asked"

    request_id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    arguments: models.JSONField[Any, Any] = models.JSONField(db_default={}, help_text="Of a replay: what to choose.")
    requested_by = models.CharField(max_length=150)
    requested_at = models.DateTimeField(db_default=Now())
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.REQUESTED)
    taken_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "pipeline_request"
        indexes = [models.Index(fields=["kind", "requested_by", "-requested_at"], name="pipeline_request_last")]

    def __str__(self) -> str:
        return f"request {self.request_id} for {self.kind}"
