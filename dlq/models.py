"""Jobs: work over many messages that outlives a click. The row of a job is the whole truth about it.

Whoever runs a job holds its row: `runner` names the process and `lease_expires_at` says until when, so that a
job whose process died is taken up by another where the row says it stood.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

MAX_RATE_PER_SECOND = 5_000


def _active(table: str) -> models.Index:
    """The few jobs that are not over, for the sweep and the rail's count."""
    return models.Index(
        fields=["state"],
        name=f"{table}_active",
        condition=models.Q(state__in=["pending", "running", "paused"]),
    )


class Job(models.Model):
    """What every job has: a state, an author with a reason, a lease, a story in times."""

    class State(models.TextChoices):
        PENDING = "pending"  # waits for a worker
        RUNNING = "running"
        PAUSED = "paused"
        CANCELLED = "cancelled"
        DONE = "done"
        FAILED = "failed"

    NOUN: ClassVar[str]
    ACTIVE_STATES: ClassVar = (State.PENDING, State.RUNNING, State.PAUSED)
    RUNNABLE_STATES: ClassVar = (State.PENDING, State.RUNNING)

    state = models.CharField(max_length=10, choices=State.choices, db_default=State.PENDING)
    created_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    last_batch_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(db_default="", help_text="Why the job failed.")
    total_estimate = models.BigIntegerField(db_default=0, help_text="Messages to handle, as of creation.")
    total_is_exact = models.BooleanField(db_default=False, help_text="False: there are more than that.")
    runner = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE_STATES

    @property
    def handled(self) -> int:
        """Messages this job is done with, moved or not."""
        raise NotImplementedError

    @property
    def progress(self) -> float | None:
        """How much is done, from 0 to 1; None when nobody can tell."""
        if self.state == self.State.DONE:
            return 1.0
        if self.total_is_exact and self.total_estimate:
            return min(1.0, self.handled / self.total_estimate)
        return None

    @property
    def about_queue(self) -> str | None:
        """The one queue that this job is about, if it is about one: its audit shows there too."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """What the audit keeps of this job."""
        raise NotImplementedError


class Selection(Job):
    """A job over the dead letters that a filter selects, from `lower_bound` (exclusive) up to `upper_bound`.

    Both are dead-letter ids: what dies later has a higher one and is never touched. Ages in the filter count up
    to `as_of`, which does not move either.
    """

    filter_text = models.TextField(db_default="")
    as_of = models.DateTimeField()
    lower_bound = models.BigIntegerField()
    upper_bound = models.BigIntegerField()
    cursor = models.BigIntegerField(help_text="The last dead letter that was looked at.")
    skipped = models.BigIntegerField(db_default=0, help_text="Selected, but taken by somebody else meanwhile.")
    source_queues = models.JSONField(db_default=[], help_text="Where the first of them died.")

    class Meta:
        abstract = True

    @property
    def progress(self) -> float | None:
        known = super().progress
        if known is None and self.upper_bound > self.lower_bound:
            return (self.cursor - self.lower_bound) / (self.upper_bound - self.lower_bound)
        return known

    @property
    def about_queue(self) -> str | None:
        return self.source_queues[0] if len(self.source_queues) == 1 else None


class Redrive(Selection):
    """Sends the selected dead letters again, to where they died or to `target_queue`, at most so fast."""

    NOUN = "redrive"

    redrive_id = models.BigAutoField(primary_key=True)
    target_queue = models.CharField(max_length=100, null=True)
    rate_per_second = models.IntegerField(null=True, help_text="Messages per second; empty: no limit.")
    tokens = models.FloatField(db_default=0.0)
    burst_tokens = models.FloatField(db_default=0.0)
    refilled_at = models.DateTimeField(null=True)
    moved = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "redrive"
        indexes = [_active("redrive")]
        constraints = [
            models.CheckConstraint(
                name="redrive_rate", condition=models.Q(rate_per_second__range=(1, MAX_RATE_PER_SECOND))
            )
        ]

    def __str__(self) -> str:
        return f"redrive #{self.redrive_id}"

    @property
    def handled(self) -> int:
        return self.moved + self.skipped

    @property
    def about_queue(self) -> str | None:
        return self.target_queue or super().about_queue

    def summary(self) -> dict[str, Any]:
        return {
            "redrive_id": self.redrive_id,
            "filter": self.filter_text,
            "upper_bound": self.upper_bound,
            "target_queue": self.target_queue,
            "rate_per_second": self.rate_per_second,
            "moved": self.moved,
            "skipped": self.skipped,
        }


class Deletion(Selection):
    """Deletes the selected dead letters for good."""

    NOUN = "deletion"

    deletion_id = models.BigAutoField(primary_key=True)
    deleted = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "deletion"
        indexes = [_active("deletion")]

    def __str__(self) -> str:
        return f"deletion #{self.deletion_id}"

    @property
    def handled(self) -> int:
        return self.deleted + self.skipped

    def summary(self) -> dict[str, Any]:
        return {
            "deletion_id": self.deletion_id,
            "filter": self.filter_text,
            "upper_bound": self.upper_bound,
            "deleted": self.deleted,
            "skipped": self.skipped,
        }


class Purge(Job):
    """Empties a queue of the messages in some states, up to both bounds: what comes later has a higher id."""

    NOUN = "purge"

    purge_id = models.BigAutoField(primary_key=True)
    queue_name = models.CharField(max_length=100)
    states = models.JSONField()
    through_message_id = models.BigIntegerField()
    through_dead_letter_id = models.BigIntegerField()
    purged = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "purge"
        indexes = [_active("purge"), models.Index(fields=["queue_name", "-purge_id"], name="purge_queue")]

    def __str__(self) -> str:
        return f"purge #{self.purge_id}"

    @property
    def handled(self) -> int:
        return self.purged

    @property
    def about_queue(self) -> str | None:
        return self.queue_name

    def summary(self) -> dict[str, Any]:
        return {
            "purge_id": self.purge_id,
            "states": self.states,
            "through_message_id": self.through_message_id,
            "through_dead_letter_id": self.through_dead_letter_id,
            "purged": self.purged,
        }


from dlq.saved_filters import SavedFilter as SavedFilter  # noqa: E402 - Django looks for models here
