"""The row of an erasure: its target, position and results."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models

from dlq.jobs.models import Job

MAX_ROWS_PER_SECOND = 1_000_000
USUAL_ROWS_PER_SECOND = 20_000


class Erasure(Job):
    """Job that erases all messages with a value at a path, location by location.

    `value` holds the value in plain text while the job runs, and is cleared when the job ends.
    """

    NOUN, COUNTS = "erasure", ("looked",)
    # The value is not audited: the audit is kept for good.
    AUDITED = ("part", "path", "value_digest", "live", "only_counts", "found", "became")
    FORGOTTEN: ClassVar = {"value": ""}

    class Live(models.TextChoices):
        HOLD = "hold"
        REDACT = "redact"
        DELETE = "delete"

    erasure_id = models.BigAutoField(primary_key=True)
    part = models.CharField(max_length=10)
    path = models.CharField(max_length=200)
    value = models.TextField(db_default="")  # empty once the job is over
    value_digest = models.CharField(max_length=16)  # keyed hash of path and value
    live = models.CharField(max_length=10, choices=Live.choices, db_default=Live.HOLD)
    only_counts = models.BooleanField(db_default=False)  # counts, and changes nothing
    queue_names: models.JSONField[Any, Any] = models.JSONField(db_default=[])  # empty: all queues
    queue_ids: models.JSONField[Any, Any] = models.JSONField(null=True)  # at the start of the job
    tenant_name = models.CharField(max_length=100, db_default="")
    since = models.DateTimeField(null=True)  # of messages sent at this time or later
    until = models.DateTimeField(null=True)
    through_message_id = models.BigIntegerField()
    through_dead_letter_id = models.BigIntegerField()
    rows_per_second = models.IntegerField(db_default=USUAL_ROWS_PER_SECOND)
    slice_rows = models.IntegerField(db_default=1_000)  # rows of a batch, adapted to their duration
    place = models.CharField(max_length=30, db_default="")  # current step; empty: the first
    cursor: models.JSONField[Any, Any] = models.JSONField(db_default=[])  # last key read in the place
    looked = models.BigIntegerField(db_default=0)
    found = models.BigIntegerField(db_default=0)  # rows that have the value
    places: models.JSONField[Any, Any] = models.JSONField(db_default={})  # counts of each place
    states: models.JSONField[Any, Any] = models.JSONField(db_default={})  # states in which messages were found
    became: models.JSONField[Any, Any] = models.JSONField(db_default={})  # results of messages
    remarks: models.JSONField[Any, Any] = models.JSONField(db_default={})  # what could not be erased
    note = models.CharField(max_length=500, db_default="")  # why the job waits

    class Meta(Job.Meta):
        db_table = "erasure"
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                name="erasure_forgets",
                condition=models.Q(value="") | ~models.Q(state__in=["done", "cancelled", "failed"]),
            ),
        ]

    @property
    def progress(self) -> float | None:
        if self.state == self.State.DONE or not self.total_estimate:
            return super().progress
        return min(0.99, self.looked / self.total_estimate)

    @property
    def about_queue(self) -> str | None:
        return self.queue_names[0] if len(self.queue_names) == 1 else None

    def summary(self) -> dict[str, Any]:
        return super().summary() | {"queues": self.queue_names, "tenant": self.tenant_name}

    @property
    def scope_words(self) -> str:
        """The scope of the erasure in words, for people."""
        where = ", ".join(self.queue_names) or (
            f"the queues of {self.tenant_name}" if self.tenant_name else "everywhere"
        )
        times = [f"from {self.since:%Y-%m-%d %H:%M} UTC" if self.since else ""]
        times.append(f"before {self.until:%Y-%m-%d %H:%M} UTC" if self.until else "")
        return ", ".join([where, *(words for words in times if words)])
