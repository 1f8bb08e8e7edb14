"""Jobs: work over many messages that outlives a click. The row of a job is the whole truth about it.

Whoever runs a job holds its row: `runner` names the process and `lease_expires_at` says until when, so that a
job whose process died is taken up by another where the row says it stood.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

from dlq import cluster_models as cluster_models  # theirs are in a file of their own
from dlq.erasure_models import Erasing
from dlq.plan_models import Plan
from dlq.plan_options import MAX_RATE_PER_SECOND, Options
from dlq.saved_filters import SavedFilter
from dlq.staging_models import StagedMessage, Staging

__all__ = [
    "MAX_RATE_PER_SECOND",
    "Deletion",
    "Erasure",
    "Job",
    "Plan",
    "Purge",
    "Redrive",
    "SavedFilter",
    "Selection",
    "StagedMessage",
    "Staging",
    "Undo",
]


def _approval(table: str) -> list[models.BaseConstraint]:
    """Nobody approves his own job, and one that needs approval runs only with it: whatever the code above says."""
    unapproved = [Job.State.AWAITING, Job.State.REFUSED, Job.State.EXPIRED, Job.State.CANCELLED]
    return [
        models.CheckConstraint(
            name=f"{table}_second_person",
            condition=models.Q(approved_by=None) | ~models.Q(approved_by=models.F("created_by")),
        ),
        models.CheckConstraint(
            name=f"{table}_approved",
            condition=models.Q(needs_approval=False)
            | models.Q(approved_by__isnull=False)
            | models.Q(state__in=unapproved),
        ),
    ]


def _awaiting(table: str) -> models.Index:
    """The very few jobs that wait for a second person."""
    return models.Index(fields=["approval_expires_at"], name=f"{table}_awaiting", condition=models.Q(state="awaiting"))


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
        AWAITING = "awaiting", "awaiting approval"  # a second person decides; nobody runs it
        REFUSED = "refused"
        EXPIRED = "expired"  # nobody decided in time

    NOUN: ClassVar[str]
    ACTIVE_STATES: ClassVar = (State.PENDING, State.RUNNING, State.PAUSED)
    RUNNABLE_STATES: ClassVar = (State.PENDING, State.RUNNING)
    UNDECIDED_STATES: ClassVar = (*ACTIVE_STATES, State.AWAITING)
    FORGOTTEN: ClassVar[dict[str, Any]] = {}  # what it keeps no longer than it runs

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
    needs_approval = models.BooleanField(db_default=False, help_text="It touches more than one person may decide.")
    approval_expires_at = models.DateTimeField(null=True)
    approved_by = models.CharField(max_length=150, null=True)
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.CharField(max_length=500, db_default="")

    class Meta:
        abstract = True

    @property
    def is_awaiting(self) -> bool:
        return self.state == self.State.AWAITING

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


class Removing(models.Model):
    """What jobs have that remove messages: where these go, and for how long they can be put back."""

    trash_hours = models.IntegerField(db_default=0, help_text="How long they can be put back; 0 is not at all.")
    removal_id = models.BigIntegerField(null=True, help_text="The removal of the engine that has them.")

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

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, related_name="redrives")
    staging = models.ForeignKey(
        Staging,
        on_delete=models.PROTECT,
        null=True,
        related_name="redrives",
        help_text="Of what it takes; empty: dead letters.",
    )
    options = models.JSONField(db_default={}, help_text="The plan's, with what the run said otherwise.")
    skipped_why = models.JSONField(db_default={}, help_text="Of those skipped, how many for which reason.")
    succeeded = models.BigIntegerField(db_default=0)
    failed_same = models.BigIntegerField(db_default=0, help_text="Dead again, of the same cause.")
    failed_new = models.BigIntegerField(db_default=0, help_text="Dead again, of another cause.")
    gone = models.BigIntegerField(db_default=0, help_text="Purged or expired before anybody finished them.")
    failed_in_row = models.BigIntegerField(db_default=0, help_text="Failures since the last success.")
    watching = models.BooleanField(db_default=False, help_text="There are outcomes to wait for.")
    looked_at = models.DateTimeField(null=True, help_text="When outcomes were last looked for.")
    looked_after = models.BigIntegerField(db_default=0, help_text="The redriven_id up to which the round has come.")
    step_limit = models.BigIntegerField(null=True, help_text="Not more than so many before their outcomes are known.")
    step_began = models.JSONField(db_default={}, help_text="The counts when the step began.")
    canaries = models.JSONField(db_default=[], help_text="Dead letters that are to go first, by id.")
    slowed_rate = models.FloatField(null=True, help_text="What is left of the rate when a destination is in trouble.")
    slow_memory = models.JSONField(db_default={}, help_text="When slowing was last considered, and the counts then.")
    note = models.CharField(max_length=500, db_default="", help_text="What it waits for, or why it goes slowly.")
    stopped_because = models.CharField(max_length=500, db_default="", help_text="Why it paused itself.")

    class Meta:
        db_table = "redrive"
        indexes = [
            _active("redrive"),
            _awaiting("redrive"),
            models.Index(fields=["redrive_id"], name="redrive_watching", condition=models.Q(watching=True)),
        ]
        constraints = [
            models.CheckConstraint(
                name="redrive_rate", condition=models.Q(rate_per_second__range=(1, MAX_RATE_PER_SECOND))
            ),
            *_approval("redrive"),
        ]

    def __str__(self) -> str:
        return f"redrive #{self.redrive_id}"

    @property
    def handled(self) -> int:
        return self.moved + self.skipped

    @property
    def choices(self) -> Options:
        """How it runs; one that began before there were plans has no guard against loops."""
        return Options.from_json({"most_redrives": None} | self.options)

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

    def summary(self) -> dict[str, Any]:
        return {
            "redrive_id": self.redrive_id,
            "filter": self.filter_text,
            "upper_bound": self.upper_bound,
            "target_queue": self.target_queue,
            "rate_per_second": self.rate_per_second,
            "plan_id": self.plan_id,
            "moved": self.moved,
            "skipped": self.skipped,
            "stopped_because": self.stopped_because,
        }


class Deletion(Removing, Selection):
    """Deletes the selected dead letters."""

    NOUN = "deletion"

    deletion_id = models.BigAutoField(primary_key=True)
    deleted = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "deletion"
        indexes = [_active("deletion"), _awaiting("deletion")]
        constraints = _approval("deletion")

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
            "trash_hours": self.trash_hours,
        }


class Purge(Removing, Job):
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
        indexes = [
            _active("purge"),
            _awaiting("purge"),
            models.Index(fields=["queue_name", "-purge_id"], name="purge_queue"),
        ]
        constraints = _approval("purge")

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
            "trash_hours": self.trash_hours,
        }


class Undo(Job):
    """Puts back what a purge or a deletion removed, as far as it is still in the trash."""

    NOUN = "undo"

    undo_id = models.BigAutoField(primary_key=True)
    removal_id = models.BigIntegerField()
    undoes_noun = models.CharField(max_length=20)
    undoes_id = models.BigIntegerField()
    queue_name = models.CharField(max_length=100, db_default="")
    cursor_turn = models.BigIntegerField(db_default=-1)
    cursor_message_id = models.BigIntegerField(db_default=-1)
    restored = models.BigIntegerField(db_default=0)
    skipped = models.BigIntegerField(db_default=0, help_text="They could not come back, and stay in the trash.")

    class Meta:
        db_table = "undo"
        indexes = [_active("undo"), _awaiting("undo"), models.Index(fields=["removal_id"], name="undo_removal")]
        constraints = _approval("undo")

    def __str__(self) -> str:
        return f"undo #{self.undo_id}"

    @property
    def handled(self) -> int:
        return self.restored + self.skipped

    @property
    def about_queue(self) -> str | None:
        return self.queue_name or None

    def summary(self) -> dict[str, Any]:
        return {
            "undo_id": self.undo_id,
            f"{self.undoes_noun}_id": self.undoes_id,
            "restored": self.restored,
            "skipped": self.skipped,
        }


class Erasure(Erasing, Job):
    """Erases what has a value at a path, place by place."""

    NOUN = "erasure"
    FORGOTTEN: ClassVar = {"value": ""}

    erasure_id = models.BigAutoField(primary_key=True)

    class Meta:
        db_table = "erasure"
        indexes = [_active("erasure"), _awaiting("erasure")]
        constraints = [
            *_approval("erasure"),
            models.CheckConstraint(
                name="erasure_forgets",
                condition=models.Q(value="") | ~models.Q(state__in=["done", "cancelled", "failed"]),
            ),
        ]

    def __str__(self) -> str:
        return f"erasure #{self.erasure_id}"

    @property
    def handled(self) -> int:
        return self.looked

    @property
    def progress(self) -> float | None:
        if self.state == self.State.DONE or not self.total_estimate:
            return super().progress
        return min(0.99, self.looked / self.total_estimate)

    @property
    def about_queue(self) -> str | None:
        return self.queue_names[0] if len(self.queue_names) == 1 else None

    def summary(self) -> dict[str, Any]:
        """The value is not in it: the audit is kept for good."""
        return {
            "erasure_id": self.erasure_id,
            "part": self.part,
            "path": self.path,
            "value_digest": self.value_digest,
            "live": self.live,
            "only_counts": self.only_counts,
            "queues": self.queue_names,
            "tenant": self.tenant_name,
            "found": self.found,
            "became": self.became,
        }


class MaskingRule(models.Model):
    """A path into payloads or attributes that is masked: in a queue or a stream, in all of a tenant, or everywhere."""

    class Part(models.TextChoices):
        PAYLOAD = "payload"
        ATTRIBUTES = "attributes"

    masking_rule_id = models.BigAutoField(primary_key=True)
    part = models.CharField(max_length=10, choices=Part.choices)
    path = models.CharField(max_length=200)
    queue_name = models.CharField(max_length=100, db_default="")
    tenant_name = models.CharField(max_length=100, db_default="")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "masking_rule"
        ordering = ("queue_name", "tenant_name", "part", "path")
        constraints = [
            models.UniqueConstraint(fields=["queue_name", "tenant_name", "part", "path"], name="masking_rule_once"),
            models.CheckConstraint(
                name="masking_rule_scope", condition=models.Q(queue_name="") | models.Q(tenant_name="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.part}.{self.path}"

    def summary(self) -> dict[str, Any]:
        """What the audit keeps of it."""
        return {"part": self.part, "path": self.path, "queue": self.queue_name, "tenant": self.tenant_name}
