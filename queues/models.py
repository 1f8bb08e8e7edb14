"""The queue schema as Django models.

The control plane (tenants, queues, audit) is managed here and written through `queues.control`. The data plane is
unmanaged and read-only: its tables belong to the SQL verbs in `queues/sql/`, and a test compares these classes with
`information_schema`. Status words of the view are those of the field: pending, processing, completed, failed, dead.
"""

from __future__ import annotations

from typing import Any, cast

from django.db import models
from django.db.models import Value
from django.db.models.functions import Now

from queues.settings import SETTINGS
from queues.stored_json import StoredJson


class Tenant(models.Model):
    """Who a queue belongs to; each queue has one. What its queues may do together is written by `queues.quotas`."""

    tenant_id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(db_default=Now())

    max_backlog_messages = models.BigIntegerField(db_default=0)
    max_backlog_bytes = models.BigIntegerField(db_default=0)
    max_oldest_age_seconds = models.FloatField(db_default=0.0)
    max_in_flight = models.BigIntegerField(db_default=0)
    publish_rate_per_second = models.FloatField(db_default=0.0)
    max_queues = models.BigIntegerField(db_default=0)
    max_retention_seconds = models.FloatField(db_default=0.0)
    max_long_polls = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "tenant"

    def __str__(self) -> str:
        return self.name


def _number(name: str) -> models.FloatField[float, float]:
    return models.FloatField(db_default=cast("float", SETTINGS[name].default))


def _integer(name: str) -> models.BigIntegerField[int, int]:
    return models.BigIntegerField(db_default=cast("int", SETTINGS[name].default))


def _flag(name: str) -> models.BooleanField[bool, bool]:
    return models.BooleanField(db_default=cast("bool", SETTINGS[name].default))


HELD = 8  # of guards: see queues/sql/_guard_queue.sql


class Queue(models.Model):
    """A queue and its settings; one field for each entry of `queues.settings.SETTINGS`."""

    queue_id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=100, unique=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, db_default=Value(1), related_name="queues")
    is_dead_letter_queue = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())

    visibility_timeout_seconds = _number("visibility_timeout_seconds")
    max_receives = _integer("max_receives")
    dead_letter_queue = models.CharField(max_length=100, null=True)
    retention_seconds = _number("retention_seconds")
    delay_seconds = _number("delay_seconds")
    mode = models.CharField(max_length=20, db_default=str(SETTINGS["mode"].default))
    lane_max_in_flight = _integer("lane_max_in_flight")
    lane_release_interval_seconds = _number("lane_release_interval_seconds")
    lane_max_waiting = _integer("lane_max_waiting")
    block_lane_on_dead = _flag("block_lane_on_dead")
    backoff_base_seconds = _number("backoff_base_seconds")
    backoff_cap_seconds = _number("backoff_cap_seconds")
    jitter = _number("jitter")
    aging_seconds = _number("aging_seconds")
    dedup_window_seconds = _number("dedup_window_seconds")
    dedup_scope = models.CharField(max_length=20, db_default=str(SETTINGS["dedup_scope"].default))
    max_payload_bytes = _integer("max_payload_bytes")
    max_backlog_messages = _integer("max_backlog_messages")
    max_backlog_bytes = _integer("max_backlog_bytes")
    max_oldest_age_seconds = _number("max_oldest_age_seconds")
    max_in_flight = _integer("max_in_flight")
    publish_rate_per_second = _number("publish_rate_per_second")
    paused = _flag("paused")
    closed = _flag("closed")
    alert_oldest_age_seconds = _number("alert_oldest_age_seconds")
    alert_dead_letters = _integer("alert_dead_letters")
    alert_dead_letters_per_minute = _number("alert_dead_letters_per_minute")
    alert_no_consumers_seconds = _number("alert_no_consumers_seconds")
    alert_drain_seconds = _number("alert_drain_seconds")
    alert_lease_age_seconds = _number("alert_lease_age_seconds")
    alert_redelivery_ratio = _number("alert_redelivery_ratio")
    warn_every_seconds = _number("warn_every_seconds")
    wait_target_seconds = _number("wait_target_seconds")
    wait_target_ratio = _number("wait_target_ratio")

    guards = models.SmallIntegerField(db_default=0)
    """What verbs must look at for this queue: written by a trigger (`queues/sql/_guard_queue.sql`)."""
    dead_letter_queue_id = models.IntegerField(null=True)
    """Which queue keeps its dead letters; null: the queue itself. Written by the same trigger."""

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
        """Whether maintenance keeps it from handing out messages, whatever its own `paused` says."""
        return bool(self.guards & HELD)

    @property
    def group_limit(self) -> int:
        """How many messages of a group may be ready or in flight, if it has no limit of its own; 0 is any number."""
        return 1 if self.mode == "fifo" else self.lane_max_in_flight


class AuditEvent(models.Model):
    """What somebody did, to what, and why. Only ever added, by `queues.audit.record`; the database chains rows."""

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
    """The role that logged in, and what its session calls itself: written by the database, whatever the row said."""
    application_name = models.TextField(null=True)
    position = models.BigIntegerField(null=True, unique=True)
    """Its place in the chain, from 1; given when its transaction commits, with both hashes."""
    previous_hash = models.BinaryField(null=True)
    hash = models.BinaryField(null=True)

    class Meta:
        db_table = "audit_event"
        indexes = [
            models.Index(fields=["queue", "-audit_event_id"], name="audit_event_queue"),
            models.Index(fields=["actor", "-audit_event_id"], name="audit_event_actor"),
            models.Index(fields=["action", "-audit_event_id"], name="audit_event_action"),
        ]


class ReadOnlyError(TypeError):
    """Data-plane rows change through the verbs only."""


class DataPlaneModel(models.Model):
    """Base of the unmanaged models: they can be read, never saved or deleted."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        raise ReadOnlyError(ReadOnlyError.__doc__)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise ReadOnlyError(ReadOnlyError.__doc__)


def _queue_key(related_name: str) -> models.ForeignKey[Queue, Queue]:
    return models.ForeignKey(Queue, on_delete=models.DO_NOTHING, db_constraint=False, related_name=related_name)


class Message(DataPlaneModel):
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

    class Meta:
        managed = False
        db_table = "message"


class ReadyTicket(DataPlaneModel):
    """A message that may be received now."""

    pk = models.CompositePrimaryKey("queue_id", "priority", "ready_at", "message_id")
    queue = _queue_key("ready_tickets")
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    ready_at = models.DateTimeField()
    message_id = models.BigIntegerField()
    lane = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "ready"


class ScheduledTicket(DataPlaneModel):
    """A message that rests until it is due: delayed by its sender, or backing off after a failure."""

    message_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("scheduled_tickets")
    due_at = models.DateTimeField()
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    lane = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "scheduled"


class WaitingTicket(DataPlaneModel):
    """A message whose lane has no room yet: it keeps its place there."""

    message_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("waiting_tickets")
    lane = models.TextField()
    place = models.BigIntegerField()
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    waiting_since = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "waiting"


class Lease(DataPlaneModel):
    """A message in a consumer's hands, until its deadline."""

    message_id = models.BigIntegerField(primary_key=True)
    queue = _queue_key("leases")
    nonce = models.UUIDField()
    deadline = models.DateTimeField()
    leased_at = models.DateTimeField()
    receive_count = models.SmallIntegerField()
    priority = models.SmallIntegerField()
    consumer = models.TextField(null=True)
    lane = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "lease"


class Failure(DataPlaneModel):
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

    class Meta:
        managed = False
        db_table = "failure"


class DeadLetter(DataPlaneModel):
    """A message that died, with all one needs to understand it and to send it again."""

    dead_letter_id = models.BigIntegerField(primary_key=True)
    message_id = models.BigIntegerField(unique=True)
    queue = _queue_key("dead_letters")
    source_queue = models.TextField()
    source = models.ForeignKey(
        Queue,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_column="source_queue_id",
        related_name="deaths",
    )
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

    class Meta:
        managed = False
        db_table = "dead_letter"


class Removal(DataPlaneModel):
    """What one job took out of its queues, and until when it can be put back."""

    removal_id = models.BigIntegerField(primary_key=True)
    opened_at = models.DateTimeField()
    keep_seconds = models.FloatField()
    expires_at = models.DateTimeField()
    trashed = models.BigIntegerField()
    restored = models.BigIntegerField()
    emptied = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "removal"

    @property
    def left(self) -> int:
        """Messages that are still in the trash."""
        return self.trashed - self.restored - self.emptied


class Trashed(DataPlaneModel):
    """A message in the trash: where it stood, and of a dead letter everything."""

    message_id = models.BigIntegerField(primary_key=True)
    removal_id = models.BigIntegerField()
    turn = models.BigIntegerField()
    queue = _queue_key("trashed")
    state = models.TextField()
    priority = models.SmallIntegerField()
    receive_count = models.SmallIntegerField()
    due_at = models.DateTimeField(null=True)
    trashed_at = models.DateTimeField()
    letter = StoredJson(null=True)

    class Meta:
        managed = False
        db_table = "trash"


class Redriven(DataPlaneModel):
    """One dead letter sent again: by whom, when and to which queue."""

    redriven_id = models.BigIntegerField(primary_key=True)
    redrive_id = models.BigIntegerField(null=True)
    dead_letter_id = models.BigIntegerField()
    message_id = models.BigIntegerField()
    queue = _queue_key("redriven")
    redriven_at = models.DateTimeField()
    actor = models.TextField(null=True)
    outcome = models.CharField(max_length=1, null=True)
    """What became of it (`queues/sql/settle_redriven.sql`); null while it may still be delivered."""
    settled_at = models.DateTimeField(null=True)
    fingerprint = models.TextField(null=True)
    priority = models.SmallIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "redriven"


class Rewritten(DataPlaneModel):
    """What the payload of a dead letter was before a redrive patched it."""

    pk = models.CompositePrimaryKey("message_id", "dead_letter_id")
    message_id = models.BigIntegerField()
    dead_letter_id = models.BigIntegerField()
    redrive_id = models.BigIntegerField(null=True)
    rewritten_at = models.DateTimeField()
    payload = StoredJson()

    class Meta:
        managed = False
        db_table = "rewritten"


class Settled(DataPlaneModel):
    """Messages that left their queue together: one row for each ack call and queue, or batch purged or expired."""

    pk = models.CompositePrimaryKey("queue_id", "settled_at", "txid")
    queue = _queue_key("settled")
    txid = models.BigIntegerField()
    settled_at = models.DateTimeField()
    outcome = models.CharField(max_length=1)
    consumer = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "settled"


class Consumer(DataPlaneModel):
    """Who has been receiving from a queue, and when it was last seen."""

    pk = models.CompositePrimaryKey("queue_id", "consumer")
    queue = _queue_key("consumers")
    consumer = models.TextField()
    last_seen_at = models.DateTimeField()
    details = models.JSONField()

    class Meta:
        managed = False
        db_table = "consumer"


class QueueHistory(DataPlaneModel):
    """A queue's numbers over one bucket of time: depths at its end, events within it."""

    pk = models.CompositePrimaryKey("queue_id", "bucket_at")
    queue = _queue_key("history")
    bucket_at = models.DateTimeField()
    seconds = models.IntegerField()
    ready = models.BigIntegerField()
    scheduled = models.BigIntegerField()
    waiting = models.BigIntegerField()
    leased = models.BigIntegerField()
    dead = models.BigIntegerField()
    ready_highest = models.BigIntegerField(null=True)
    scheduled_highest = models.BigIntegerField(null=True)
    waiting_highest = models.BigIntegerField(null=True)
    leased_highest = models.BigIntegerField(null=True)
    dead_highest = models.BigIntegerField(null=True)
    oldest_visible_at = models.DateTimeField(null=True)
    oldest_ready_age_seconds = models.FloatField(null=True)
    added = models.BigIntegerField()
    removed = models.BigIntegerField()
    published = models.BigIntegerField()
    delivered = models.BigIntegerField()
    redelivered = models.BigIntegerField()
    acked = models.BigIntegerField()
    nacked = models.BigIntegerField()
    lease_expired = models.BigIntegerField()
    dead_lettered = models.BigIntegerField()
    deduplicated = models.BigIntegerField()
    redriven = models.BigIntegerField()
    refused = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "queue_history"


class MessageStatus(DataPlaneModel):
    """Where a message stands, in the field's words. Always filter by queue or message id: it is a union of tables."""

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

    class Meta:
        managed = False
        db_table = "message_status"


from queues import stream_models as stream_models  # noqa: E402 - they are made of the base class above
from queues.maintenance import models as maintenance_models  # noqa: E402, F401 - beside the others
