"""Jobs: work over many messages that continues in the background. The row of a job has its whole state.

A process that runs a job holds a lease in its row: `runner` names the process and `lease_expires_at` is the end of the
lease. If the process dies, another one continues at the position in the row.
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
        AWAITING = "awaiting", "awaiting approval"  # a second person must approve; no process runs the job
        REFUSED = "refused"
        EXPIRED = "expired"  # no second person decided in time

    NOUN: ClassVar[str]
    ACTIVE_STATES: ClassVar = (State.PENDING, State.RUNNING, State.PAUSED)
    RUNNABLE_STATES: ClassVar = (State.PENDING, State.RUNNING)
    UNDECIDED_STATES: ClassVar = (*ACTIVE_STATES, State.AWAITING)
    FORGOTTEN: ClassVar[dict[str, Any]] = {}  # values of fields that are cleared when the job ends
    COUNTS: ClassVar[tuple[str, ...]]  # the fields that count handled messages, moved or not
    AUDITED: ClassVar[tuple[str, ...]]  # the fields that the audit keeps

    state = models.CharField(max_length=10, choices=State.choices, db_default=State.PENDING)
    created_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    last_batch_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(db_default="")  # the error of a failed job
    total_estimate = models.BigIntegerField(db_default=0)  # messages to handle, as of creation
    total_is_exact = models.BooleanField(db_default=False)  # false: the job has more messages
    runner = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    needs_approval = models.BooleanField(db_default=False)  # the job is larger than the threshold for approval
    approval_expires_at = models.DateTimeField(null=True)
    approved_by = models.CharField(max_length=150, null=True)
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.CharField(max_length=500, db_default="")

    class Meta:
        abstract = True
        indexes = [
            # The few active jobs, for the sweep and the count of the sidebar.
            models.Index(
                fields=["state"],
                name="%(class)s_active",
                condition=models.Q(state__in=["pending", "running", "paused"]),
            ),
            # The very few jobs that await approval.
            models.Index(
                fields=["approval_expires_at"], name="%(class)s_awaiting", condition=models.Q(state="awaiting")
            ),
        ]
        constraints = [
            # No person approves their own job.
            models.CheckConstraint(
                name="%(class)s_second_person",
                condition=models.Q(approved_by=None) | ~models.Q(approved_by=models.F("created_by")),
            ),
            # A job that needs approval does not run without it.
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
        """The number of messages that the job has handled, moved or not."""
        return sum(getattr(self, name) for name in self.COUNTS)

    @property
    def progress(self) -> float | None:
        """Return the share of handled messages, from 0 to 1; None when it is unknown."""
        if self.state == self.State.DONE:
            return 1.0
        if self.total_is_exact and self.total_estimate:
            return min(1.0, self.handled / self.total_estimate)
        return None

    @property
    def rule_noun(self) -> str:
        """The kind of job whose approval rule applies."""
        return self.NOUN

    @property
    def about_queue(self) -> str | None:
        """The queue whose audit shows this job, if the job concerns one queue."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Return the fields of this job that the audit keeps."""
        return {f"{self.NOUN}_id": self.pk} | {name: getattr(self, name) for name in self.AUDITED}


class Removing(models.Model):
    """Fields of a job that removes messages: the trash, and the time within which they can be restored."""

    trash_hours = models.IntegerField(db_default=0)  # time in the trash; 0: deleted permanently
    trash_batch_id = models.BigIntegerField(null=True)  # the batch of the engine's trash that has the messages

    class Meta:
        abstract = True


class Selection(Job):
    """A job over the dead letters that a filter selects, from `lower_bound` (exclusive) up to `upper_bound`.

    Both are ids of dead letters: a later dead letter has a higher id and is never selected. Ages in the filter count
    up to `as_of`, which is fixed too.
    """

    filter_text = models.TextField(db_default="")
    as_of = models.DateTimeField()
    lower_bound = models.BigIntegerField()
    upper_bound = models.BigIntegerField()
    cursor = models.BigIntegerField()  # the last dead letter that was read
    skipped = models.BigIntegerField(db_default=0)  # selected, but taken by another process
    source_queues = models.JSONField(db_default=[])  # the source queues of the first messages

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
    """Redrive: sends the selected dead letters to their source queues or to `target_queue`, at a limited rate."""

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
    # The staged messages of a replay; empty: dead letters.
    staging = models.ForeignKey(Staging, on_delete=models.PROTECT, null=True, related_name="redrives")
    options = models.JSONField(db_default={})  # the options of the plan, with those that the run overrides
    skipped_why = models.JSONField(db_default={})  # the number of skipped messages by reason
    succeeded = models.BigIntegerField(db_default=0)
    failed_same = models.BigIntegerField(db_default=0)  # dead letters again, with the same cause
    failed_new = models.BigIntegerField(db_default=0)  # dead letters again, with another cause
    gone = models.BigIntegerField(db_default=0)  # purged or expired before a consumer acknowledged them
    failed_in_row = models.BigIntegerField(db_default=0)  # failures since the last success
    watching = models.BooleanField(db_default=False)  # some outcomes are not known yet
    looked_at = models.DateTimeField(null=True)  # the time of the last look for outcomes
    looked_after = models.BigIntegerField(db_default=0)  # the redriven_id up to which the current round has read
    step_limit = models.BigIntegerField(null=True)  # messages to send until the step waits for outcomes
    step_began = models.JSONField(db_default={})  # the counts at the beginning of the step
    canaries = models.JSONField(db_default=[])  # ids of dead letters that go first
    canary = models.JSONField(db_default={})  # its size, its verdict, and the seconds that the last step waited
    slowed_rate = models.FloatField(null=True)  # the rate while a destination is above a threshold
    slow_memory = models.JSONField(db_default={})  # the time of the last adaptive rate, and the counts at that time
    note = models.CharField(max_length=500, db_default="")  # the reason why it waits or goes slowly
    stopped_because = models.CharField(max_length=500, db_default="")  # the stop rule that paused the redrive

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
        """Return the options; a redrive without a plan has no retry limit."""
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
        """Messages whose outcome is not known: ready, waiting, scheduled or in flight."""
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
    """Purge: removes the messages of a queue in some states, up to both bounds. Later messages have higher ids."""

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
    """Undo: restores the messages of a purge or a deletion that are still in the trash."""

    NOUN, COUNTS, AUDITED = "undo", ("restored", "skipped"), ("restored", "skipped")

    undo_id = models.BigAutoField(primary_key=True)
    trash_batch_id = models.BigIntegerField()
    undoes_noun = models.CharField(max_length=20)
    undoes_id = models.BigIntegerField()
    queue_name = models.CharField(max_length=100, db_default="")
    cursor_position = models.BigIntegerField(db_default=-1)
    cursor_message_id = models.BigIntegerField(db_default=-1)
    restored = models.BigIntegerField(db_default=0)
    skipped = models.BigIntegerField(db_default=0)  # messages that could not be restored and stay in the trash

    class Meta(Job.Meta):
        db_table = "undo"
        indexes = [*Job.Meta.indexes, models.Index(fields=["trash_batch_id"], name="undo_trash_batch")]

    @property
    def about_queue(self) -> str | None:
        return self.queue_name or None

    def summary(self) -> dict[str, Any]:
        return super().summary() | {f"{self.undoes_noun}_id": self.undoes_id}
