"""What the pipeline did and what came of it: runs, and the files that hold what they took, which are the manifest."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Run(models.Model):
    """One window of transactions, fixed before anything is read; whoever takes the run up again does just that anew."""

    class State(models.TextChoices):
        RUNNING = "running"
        COMMITTED = "committed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    run_id = models.BigAutoField(primary_key=True)
    token = models.CharField(
        max_length=12, help_text="In the names of its files, so that a restored database takes others."
    )
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.RUNNING)
    url = models.TextField(help_text="Where the archive is.")
    low = models.BigIntegerField(help_text="The first transaction of its window.")
    high = models.BigIntegerField(help_text="The first transaction after its window.")
    parts: models.JSONField[Any, Any] = models.JSONField(help_text="See pipeline.parts.")
    parts_done = models.IntegerField(db_default=0)
    rows = models.BigIntegerField(db_default=0, help_text="Written so far, or, when committed, in all.")
    bytes = models.BigIntegerField(db_default=0)
    started_by = models.CharField(max_length=150)
    opened_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(db_default=Now(), help_text="When it was taken up last.")
    seen_at = models.DateTimeField(db_default=Now(), help_text="When it last said how far it was.")
    finished_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(db_default=1)
    cancel_requested = models.BooleanField(db_default=False)
    error = models.TextField(db_default="")

    class Meta:
        db_table = "pipeline_run"
        constraints = [
            models.UniqueConstraint(models.F("state"), condition=Q(state="running"), name="pipeline_run_one_at_a_time"),
            models.CheckConstraint(condition=Q(low__lte=models.F("high")), name="pipeline_run_window"),
        ]
        indexes = [models.Index(fields=["url", "-run_id"], name="pipeline_run_url")]

    def __str__(self) -> str:
        return f"archive run #{self.run_id}"

    @property
    def rows_expected(self) -> int:
        return sum(part["rows"] for part in self.parts)

    @property
    def seconds(self) -> float | None:
        """How long the last attempt took; None while it is under way."""
        return (self.finished_at - self.started_at).total_seconds() if self.finished_at else None


class ArchiveFile(models.Model):
    """One Parquet file of a committed run. What is not named here does not exist for readers."""

    file_id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="files")
    kind = models.CharField(max_length=20)
    day = models.DateField(help_text="Of what is in it, in UTC.")
    part = models.IntegerField()
    path = models.TextField(help_text="Below the run's url.")
    rows = models.BigIntegerField()
    bytes = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        db_table = "pipeline_file"
        constraints = [models.UniqueConstraint(fields=["run", "path"], name="pipeline_file_path")]
        indexes = [models.Index(fields=["kind", "day"], name="pipeline_file_day")]

    def __str__(self) -> str:
        return self.path
