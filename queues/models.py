"""The queue schema as Django models.

The control plane (tenants, queues, audit) is managed here and written through `queues.control.queues`. The data
plane is unmanaged and read-only: its tables belong to the SQL verbs in `queues/sql/`, and a test compares these
classes with `information_schema`. Status words of the view are those of the field: pending, processing, completed,
failed, dead.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Value
from django.db.models.functions import Now
from django.utils import timezone

from queues import stream_models as stream_models  # Django looks for every model here
from queues.codes import AdmissionFlag
from queues.data_plane import DataPlaneModel, StoredJson
from queues.settings import QUOTAS, SETTINGS, QueueSettings, Setting, TenantQuotas


class Tenant(TenantQuotas, models.Model):
    """Owner of queues, with the quotas that its queues share; `_column` makes the field of each quota."""

    tenant_id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "tenant"

    def __str__(self) -> str:
        return self.name


class Queue(QueueSettings, models.Model):
    """A queue and its settings; `_column` makes the field of each setting."""

    queue_id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=100, unique=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, db_default=Value(1), related_name="queues")
    is_dead_letter_queue = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())

    admission_flags = models.SmallIntegerField(db_default=0)
    """Flags of the checks that verbs make for this queue, set by a trigger (`sql/queues/_set_admission_flags.sql`)."""
    dead_letter_queue_id = models.IntegerField(null=True)
    """The queue that keeps its dead letters; null: the queue itself. Set by the same trigger."""

    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=150, null=True)
    paused_reason = models.CharField(max_length=500, null=True)

    class Meta:
        db_table = "queue"
        indexes = [models.Index(fields=["dead_letter_queue_id"], name="queue_dead_letter_queue")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_held(self) -> bool:
        """True while maintenance stops deliveries from this queue, which need not be paused itself."""
        return bool(self.admission_flags & AdmissionFlag.HOLDS_CLAIMS)

    @property
    def group_limit(self) -> int:
        """The number of messages of a group that may be ready or in flight at once; 0 is no limit."""
        return 1 if self.mode == "fifo" else self.group_max_in_flight

    @property
    def shares_groups(self) -> bool:
        """True where consumers get messages of each group in turn, without a limit in flight."""
        return self.fair_groups and not self.group_limit

    @property
    def has_lanes(self) -> bool:
        """True where messages with a group id wait in their groups."""
        return bool(self.group_limit or self.fair_groups)


def _column(setting: Setting) -> models.Field[Any, Any]:
    default: Any = setting.default
    if setting.kind == "text":
        return models.CharField(max_length=100, null=True)
    if setting.kind == "choice":
        return models.CharField(max_length=20, db_default=default)
    columns = {"number": models.FloatField, "integer": models.BigIntegerField, "boolean": models.BooleanField}
    return columns[setting.kind](db_default=default)


for _model, _settings in ((Tenant, QUOTAS), (Queue, SETTINGS)):
    for _setting in _settings.values():
        _model.add_to_class(_setting.name, _column(_setting))


class AuditEvent(models.Model):
    """An audited action: by whom, on what, and why. `queues.audit.record` adds rows; the database chains them."""

    audit_event_id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=60)
    queue = models.ForeignKey(
        Queue, on_delete=models.DO_NOTHING, db_constraint=False, null=True, related_name="audit_events"
    )
    queue_name = models.CharField(max_length=100, db_default="")
    reason = models.CharField(max_length=500, db_default="")
    details = models.JSONField(db_default={})
    database_role = models.TextField(null=True)
    """The role that logged in and its application_name, as the database knows them."""
    application_name = models.TextField(null=True)
    position = models.BigIntegerField(null=True, unique=True)
    """The position in the chain, from 1; assigned with both hashes when the transaction commits."""
    previous_hash = models.BinaryField(null=True)
    hash = models.BinaryField(null=True)

    class Meta:
        db_table = "audit_event"
        indexes = [
            models.Index(fields=["queue", "-audit_event_id"], name="audit_event_queue"),
            models.Index(fields=["actor", "-audit_event_id"], name="audit_event_actor"),
            models.Index(fields=["action", "-audit_event_id"], name="audit_event_action"),
        ]


class Maintenance(models.Model):
    """Maintenance of the installation: one row while it is on. Written by two functions in SQL."""

    maintenance_id = models.SmallIntegerField(primary_key=True, db_default=1)
    started_at = models.DateTimeField(db_default=Now())
    started_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500)
    until = models.DateTimeField(null=True)
    """The announced end. Maintenance does not end by itself: the work may take longer."""
    holds_claims = models.BooleanField()
    refuses_sends = models.BooleanField()

    class Meta:
        db_table = "maintenance"
        constraints = [models.CheckConstraint(condition=models.Q(maintenance_id=1), name="maintenance_is_one")]

    def __str__(self) -> str:
        return f"maintenance by {self.started_by}"

    def overdue(self, now: datetime | None = None) -> timedelta:
        """Compute the time since the announced end; 0 before it."""
        late = (now or timezone.now()) - self.until if self.until else timedelta(0)
        return max(late, timedelta(0))

    @property
    def announced_end(self) -> str:
        """The announced end of the maintenance in words."""
        if self.until is None:
            return "until it is ended"
        end = f"{self.until:%d %b %H:%M} UTC"
        return f"announced until {end}" if self.overdue() else f"until {end}"

    @property
    def effects(self) -> list[str]:
        """The effects on messages, as sentences. In addition, only administrators may change settings."""
        held = ["no messages are handed out"] if self.holds_claims else []
        return held + (["sends are refused"] if self.refuses_sends else [])


def _queue_key(related_name: str, column: str | None = None) -> models.ForeignKey[Queue, Queue]:
    return models.ForeignKey(
        Queue, on_delete=models.DO_NOTHING, db_constraint=False, related_name=related_name, db_column=column
    )


class Message(DataPlaneModel, table="message"):
    """A message as it was sent: written once, never changed."""

    pk = models.CompositePrimaryKey("queue_id", "message_id")
    message_id = models.BigIntegerField()
    queue = _queue_key("messages")
    payload = StoredJson()
    attributes = StoredJson(null=True)
    group_id = models.TextField(null=True)
    deduplication_id = models.TextField(null=True)
    trace_id = models.TextField(null=True)
    priority = models.SmallIntegerField()
    sent_at = models.DateTimeField()


class ReadyTicket(DataPlaneModel, table="ready"):
    """A message that may be received now."""

    pk = models.CompositePrimaryKey("queue_id", "priority", "ready_at", "message_id")
    queue = _queue_key("ready_tickets")
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    ready_at = models.DateTimeField()
    message_id = models.BigIntegerField()
    lane = models.TextField(null=True)


class ScheduledTicket(DataPlaneModel, table="scheduled"):
    """A message that is due later: delayed by its sender, or backing off after a failure."""

    message_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("scheduled_tickets")
    due_at = models.DateTimeField()
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    lane = models.TextField(null=True)


class WaitingTicket(DataPlaneModel, table="waiting"):
    """A message that waits until its message group has room; `place` is its position in the group."""

    message_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("waiting_tickets")
    lane = models.TextField()
    place = models.BigIntegerField()
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    waiting_since = models.DateTimeField()


class Lease(DataPlaneModel, table="lease"):
    """A message in flight: a consumer holds it until the deadline."""

    message_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("leases")
    nonce = models.UUIDField()
    deadline = models.DateTimeField()
    leased_at = models.DateTimeField()
    receive_count = models.SmallIntegerField()
    priority = models.SmallIntegerField()
    consumer = models.TextField(null=True)
    lane = models.TextField(null=True)


class Failure(DataPlaneModel, table="failure"):
    """One delivery that failed; `retry_at` is null when it was the last."""

    failure_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("failures")
    message_id = models.BigIntegerField()
    receive_count = models.SmallIntegerField()
    leased_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField()
    retry_at = models.DateTimeField(null=True)
    reason = models.TextField()
    error_class = models.TextField(null=True)
    error = models.TextField(null=True)
    details = models.TextField(null=True)
    fingerprint = models.TextField()
    consumer = models.TextField(null=True)


class Deferral(DataPlaneModel, table="deferral"):
    """One delivery that its consumer deferred."""

    pk = models.CompositePrimaryKey("message_id", "deferred_at")
    queue = _queue_key("deferrals")
    message_id = models.BigIntegerField()
    receive_count = models.SmallIntegerField()
    leased_at = models.DateTimeField()
    deferred_at = models.DateTimeField()
    due_at = models.DateTimeField()
    consumer = models.TextField(null=True)


class DeadLetter(DataPlaneModel, table="dead_letter"):
    """A message that failed for good, complete with cause and payload."""

    dead_letter_id = models.BigIntegerField(primary_key=True)
    message_id = models.BigIntegerField(unique=True)
    queue = _queue_key("dead_letters")
    source_queue = models.TextField()
    source = _queue_key("deaths", "source_queue_id")
    payload = StoredJson()
    attributes = StoredJson(null=True)
    group_id = models.TextField(null=True)
    deduplication_id = models.TextField(null=True)
    trace_id = models.TextField(null=True)
    priority = models.SmallIntegerField()
    sent_at = models.DateTimeField()
    receive_count = models.SmallIntegerField()
    first_failed_at = models.DateTimeField()
    last_failed_at = models.DateTimeField()
    reason = models.TextField()
    error_class = models.TextField(null=True)
    error = models.TextField(null=True)
    details = models.TextField(null=True)
    fingerprint = models.TextField()
    consumer = models.TextField(null=True)
    died_at = models.DateTimeField()
    redrive_count = models.IntegerField()
    redrive_history = models.JSONField()
    state = StoredJson(null=True)


class TrashBatch(DataPlaneModel, table="trash_batch"):
    """The messages that one job put into the trash, and until when they can be restored."""

    trash_batch_id = models.BigIntegerField(primary_key=True)
    opened_at = models.DateTimeField()
    keep_seconds = models.FloatField()
    expires_at = models.DateTimeField()
    trashed = models.BigIntegerField()
    restored = models.BigIntegerField()
    emptied = models.BigIntegerField()

    @property
    def left(self) -> int:
        """Messages that are still in the trash."""
        return self.trashed - self.restored - self.emptied


class Trashed(DataPlaneModel, table="trash"):
    """A message in the trash, with its former state; `letter` is a whole dead letter."""

    message_id = models.BigIntegerField(primary_key=True)
    trash_batch_id = models.BigIntegerField()
    position = models.BigIntegerField()
    queue = _queue_key("trashed")
    state = models.TextField()
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    due_at = models.DateTimeField(null=True)
    trashed_at = models.DateTimeField()
    letter = StoredJson(null=True)


class Redriven(DataPlaneModel, table="redriven"):
    """One dead letter sent again: by whom, when and to which queue."""

    redriven_id = models.BigIntegerField(primary_key=True)
    redrive_id = models.BigIntegerField(null=True)
    dead_letter_id = models.BigIntegerField()
    message_id = models.BigIntegerField()
    queue = _queue_key("redriven")
    redriven_at = models.DateTimeField()
    actor = models.TextField(null=True)
    outcome = models.CharField(max_length=1, null=True)
    """The outcome (`queues/sql/redrives/settle_redriven.sql`); null while it may still be delivered."""
    settled_at = models.DateTimeField(null=True)
    fingerprint = models.TextField(null=True)
    priority = models.SmallIntegerField(null=True)


class Rewritten(DataPlaneModel, table="rewritten"):
    """The payload of a dead letter before a redrive patched it."""

    pk = models.CompositePrimaryKey("message_id", "dead_letter_id")
    message_id = models.BigIntegerField()
    dead_letter_id = models.BigIntegerField()
    redrive_id = models.BigIntegerField(null=True)
    rewritten_at = models.DateTimeField()
    payload = StoredJson()


class Settled(DataPlaneModel, table="settled"):
    """Messages that left their queue together: one row for each ack call and queue, or batch purged or expired."""

    pk = models.CompositePrimaryKey("queue_id", "settled_at", "txid")
    queue = _queue_key("settled")
    txid = models.BigIntegerField()
    settled_at = models.DateTimeField()
    outcome = models.CharField(max_length=1)
    consumer = models.TextField(null=True)


class Consumer(DataPlaneModel, table="consumer"):
    """A consumer of a queue, and when it was last seen."""

    pk = models.CompositePrimaryKey("queue_id", "consumer")
    queue = _queue_key("consumers")
    consumer = models.TextField()
    last_seen_at = models.DateTimeField()
    details = models.JSONField()


class MessageStatus(DataPlaneModel, table="message_status"):
    """The status of a message. Always filter by queue or message id: it is a union of tables."""

    class Status(models.TextChoices):
        PENDING = "pending"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"
        DEAD = "dead"

    pk = models.CompositePrimaryKey("queue_id", "message_id")
    message_id = models.BigIntegerField()
    queue = _queue_key("message_statuses")
    status = models.TextField(choices=Status.choices)
    attempts = models.SmallIntegerField()
    since = models.DateTimeField()
    last_error = models.TextField(null=True)
