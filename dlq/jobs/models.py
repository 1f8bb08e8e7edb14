"""Jobs: work over many messages that outlives a click. The row of a job is the whole truth about it.

The process that runs a job holds its row: `runner` names the process and `lease_expires_at` says until when, so that a
job whose process died is taken up by another where the row says it stood.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import MAX_RATE_PER_SECOND, Options
from dlq.redrives.staged.models import Staging


class Job(models.Model):
    """Job: a state, an author with a reason, a lease, and the times of its steps."""

    class State(models.TextChoices):
        PENDING = "pending"  # waits for a worker
        RUNNING = "running"
        PAUSED = "paused"
        CANCELLED = "cancelled"
        DONE = "done"
        FAILED = "failed"
        AWAITING = "awaiting", "awaiting approval"  # a second person decides; no process runs it
        REFUSED = "refused"
        EXPIRED = "expired"  # no person decided in time

    NOUN: ClassVar[str]
    ACTIVE_STATES: ClassVar = (State.PENDING, State.RUNNING, State.PAUSED)
    RUNNABLE_STATES: ClassVar = (State.PENDING, State.RUNNING)
    UNDECIDED_STATES: ClassVar = (*ACTIVE_STATES, State.AWAITING)
    FORGOTTEN: ClassVar[dict[str, Any]] = {}  # what it keeps no longer than it runs
    COUNTS: ClassVar[tuple[str, ...]]  # the fields that count messages this job is done with, moved or not
    AUDITED: ClassVar[tuple[str, ...]]  # the fields that the audit keeps

    state = models.CharField(max_length=10, choices=State.choices, db_default=State.PENDING)
    created_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    last_batch_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(db_default="")  # why the job failed
    total_estimate = models.BigIntegerField(db_default=0)  # messages to handle, as of creation
    total_is_exact = models.BooleanField(db_default=False)  # false: there are more than that
    runner = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    needs_approval = models.BooleanField(db_default=False)  # it touches more than one person may decide
    approval_expires_at = models.DateTimeField(null=True)
    approved_by = models.CharField(max_length=150, null=True)
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.CharField(max_length=500, db_default="")

    class Meta:
        abstract = True
        indexes = [
            # The few jobs that are not over, for the sweep and the count of the sidebar.
            models.Index(
                fields=["state"],
                name="%(class)s_active",
                condition=models.Q(state__in=["pending", "running", "paused"]),
            ),
            # The very few jobs that wait for a second person.
            models.Index(
                fields=["approval_expires_at"], name="%(class)s_awaiting", condition=models.Q(state="awaiting")
            ),
        ]
        constraints = [
            # No person approves a job of their own.
            models.CheckConstraint(
                name="%(class)s_second_person",
                condition=models.Q(approved_by=None) | ~models.Q(approved_by=models.F("created_by")),
            ),
            # No job runs without the approval that it needs.
            models.CheckConstraint(
                name="%(class)s_approved",
                condition=models.Q(needs_approval=False)
                | models.Q(approved_by__isnull=False)
                | models.Q(state__in=["awaiting", "refused", "expired", "cancelled"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.NOUN} #{self.pk}"

    @property
    def is_awaiting(self) -> bool:
        return self.state == self.State.AWAITING

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE_STATES

    @property
    def handled(self) -> int:
        """Messages this job is done with, moved or not."""
        return sum(getattr(self, name) for name in self.COUNTS)

    @property
    def progress(self) -> float | None:
        """Return how much is done, from 0 to 1; None when that is unknown."""
        if self.state == self.State.DONE:
            return 1.0
        if self.total_is_exact and self.total_estimate:
            return min(1.0, self.handled / self.total_estimate)
        return None

    @property
    def about_queue(self) -> str | None:
        """Queue that this job is about, if it is about one: its audit shows there too."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Return what the audit keeps of this job."""
        return {f"{self.NOUN}_id": self.pk} | {name: getattr(self, name) for name in self.AUDITED}


class Removing(models.Model):
    """Job that removes messages: where they go, and for how long they can be put back."""

    trash_hours = models.IntegerField(db_default=0)  # how long they can be put back; 0 is not at all
    trash_batch_id = models.BigIntegerField(null=True)  # the trash batch of the engine that has them

    class Meta:
        abstract = True


class Selection(Job):
    """A job over the dead letters that a filter selects, from `lower_bound` (exclusive) up to `upper_bound`.

    Both are dead-letter ids: what dies later has a higher one and is never touched. Ages in the filter count up
    to `as_of`, which does not move either.
    """

    filter_text = models.TextField(db_default="")
    as_of = models.DateTimeField()
    lower_bound = models.BigIntegerField()
    upper_bound = models.BigIntegerField()
    cursor = models.BigIntegerField()  # the last dead letter that was looked at
    skipped = models.BigIntegerField(db_default=0)  # selected, but taken by another process
    source_queues = models.JSONField(db_default=[])  # where the first of them died

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

    def summary(self) -> dict[str, Any]:
        return {"filter": self.filter_text} | super().summary()


class Redrive(Selection):
    """Redrive: sends the selected dead letters to where they died or to `target_queue`, at a limited rate."""

    NOUN, COUNTS = "redrive", ("moved", "skipped")
    AUDITED = (*("upper_bound", "target_queue", "rate_per_second", "plan_id"), *("moved", "skipped", "stopped_because"))

    redrive_id = models.BigAutoField(primary_key=True)
    target_queue = models.CharField(max_length=100, null=True)
    rate_per_second = models.IntegerField(null=True)  # messages per second; empty: no limit
    tokens = models.FloatField(db_default=0.0)
    burst_tokens = models.FloatField(db_default=0.0)
    refilled_at = models.DateTimeField(null=True)
    moved = models.BigIntegerField(db_default=0)

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, related_name="redrives")
    # Of what it takes; empty: dead letters.
    staging = models.ForeignKey(Staging, on_delete=models.PROTECT, null=True, related_name="redrives")
    options = models.JSONField(db_default={})  # the plan's, with what the run said otherwise
    skipped_why = models.JSONField(db_default={})  # of those skipped, how many for which reason
    succeeded = models.BigIntegerField(db_default=0)
    failed_same = models.BigIntegerField(db_default=0)  # dead again, of the same cause
    failed_new = models.BigIntegerField(db_default=0)  # dead again, of another cause
    gone = models.BigIntegerField(db_default=0)  # purged or expired before anybody finished them
    failed_in_row = models.BigIntegerField(db_default=0)  # failures since the last success
    watching = models.BooleanField(db_default=False)  # there are outcomes to wait for
    looked_at = models.DateTimeField(null=True)  # when outcomes were last looked for
    looked_after = models.BigIntegerField(db_default=0)  # the redriven_id up to which the round has come
    step_limit = models.BigIntegerField(null=True)  # messages to send before their outcomes are known
    step_began = models.JSONField(db_default={})  # the counts when the step began
    canaries = models.JSONField(db_default=[])  # dead letters that are to go first, by id
    canary = models.JSONField(db_default={})  # its size, its verdict, and the seconds that the last step waited
    slowed_rate = models.FloatField(null=True)  # what is left of the rate when a destination is in trouble
    slow_memory = models.JSONField(db_default={})  # when the adaptive rate was last computed, and the counts then
    note = models.CharField(max_length=500, db_default="")  # what it waits for, or why it goes slowly
    stopped_because = models.CharField(max_length=500, db_default="")  # why it paused itself

    class Meta(Job.Meta):
        db_table = "redrive"
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["redrive_id"], name="redrive_watching", condition=models.Q(watching=True)),
        ]
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                name="redrive_rate", condition=models.Q(rate_per_second__range=(1, MAX_RATE_PER_SECOND))
            ),
        ]

    @property
    def choices(self) -> Options:
        """Return how it runs; one that began before there were plans has no guard against loops."""
        return Options.from_json({"max_redrives": None} | self.options)

    @property
    def failed(self) -> int:
        return self.failed_same + self.failed_new

    @property
    def settled(self) -> int:
        """Messages whose outcome is known."""
        return self.succeeded + self.failed + self.gone

    @property
    def open_outcomes(self) -> int:
        """Messages that may still be delivered: waiting, in flight, resting."""
        return self.moved - self.settled

    @property
    def about_queue(self) -> str | None:
        return self.target_queue or super().about_queue


class Deletion(Removing, Selection):
    """Deletion of the selected dead letters."""

    NOUN, COUNTS = "deletion", ("deleted", "skipped")
    AUDITED = ("upper_bound", "deleted", "skipped", "trash_hours")

    deletion_id = models.BigAutoField(primary_key=True)
    deleted = models.BigIntegerField(db_default=0)

    class Meta(Job.Meta):
        db_table = "deletion"


class Purge(Removing, Job):
    """Empties a queue of the messages in some states, up to both bounds: what comes later has a higher id."""

    NOUN, COUNTS = "purge", ("purged",)
    AUDITED = ("states", "through_message_id", "through_dead_letter_id", "purged", "trash_hours")

    purge_id = models.BigAutoField(primary_key=True)
    queue_name = models.CharField(max_length=100)
    states = models.JSONField()
    through_message_id = models.BigIntegerField()
    through_dead_letter_id = models.BigIntegerField()
    purged = models.BigIntegerField(db_default=0)

    class Meta(Job.Meta):
        db_table = "purge"
        indexes = [*Job.Meta.indexes, models.Index(fields=["queue_name", "-purge_id"], name="purge_queue")]

    @property
    def about_queue(self) -> str | None:
        return self.queue_name


class Undo(Job):
    """Undo: puts back what a purge or a deletion removed, as far as it is still in the trash."""

    NOUN, COUNTS, AUDITED = "undo", ("restored", "skipped"), ("restored", "skipped")

    undo_id = models.BigAutoField(primary_key=True)
    trash_batch_id = models.BigIntegerField()
    undoes_noun = models.CharField(max_length=20)
    undoes_id = models.BigIntegerField()
    queue_name = models.CharField(max_length=100, db_default="")
    cursor_position = models.BigIntegerField(db_default=-1)
    cursor_message_id = models.BigIntegerField(db_default=-1)
    restored = models.BigIntegerField(db_default=0)
    skipped = models.BigIntegerField(db_default=0)  # they could not come back, and stay in the trash

    class Meta(Job.Meta):
        db_table = "undo"
        indexes = [*Job.Meta.indexes, models.Index(fields=["trash_batch_id"], name="undo_trash_batch")]

    @property
    def about_queue(self) -> str | None:
        return self.queue_name or None

    def summary(self) -> dict[str, Any]:
        return super().summary() | {f"{self.undoes_noun}_id": self.undoes_id}
