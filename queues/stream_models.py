"""Streams as Django models: read-only, like all of the data plane; `queues.streams` is the way to change anything."""

from __future__ import annotations

from django.db import models

from queues.models import DataPlaneModel, Tenant
from queues.stored_json import StoredJson


class Stream(DataPlaneModel):
    """A log that is kept for its retention, in partitions, and read by groups."""

    stream_id = models.AutoField(primary_key=True)
    name = models.TextField(unique=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.DO_NOTHING, db_constraint=False, related_name="streams")
    partitions = models.SmallIntegerField()
    retention_seconds = models.FloatField()
    max_payload_bytes = models.IntegerField()
    closed = models.BooleanField()
    alert_group_lag_seconds = models.FloatField()
    created_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "stream"

    def __str__(self) -> str:
        return self.name


class StreamMessage(DataPlaneModel):
    """A message of a stream: written once, never changed, dropped with its segment."""

    pk = models.CompositePrimaryKey("stream_id", "partition", "position")
    stream = models.ForeignKey(Stream, on_delete=models.DO_NOTHING, db_constraint=False, related_name="messages")
    partition = models.SmallIntegerField()
    position = models.BigIntegerField()
    payload = StoredJson()
    attributes = StoredJson(null=True)
    key = models.TextField(null=True)
    trace_id = models.TextField(null=True)
    appended_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "stream_message"


class ConsumerGroup(DataPlaneModel):
    """Who reads a stream together. With a queue it is a subscription: what it reads is sent there."""

    group_id = models.AutoField(primary_key=True)
    stream = models.ForeignKey(Stream, on_delete=models.DO_NOTHING, db_constraint=False, related_name="groups")
    name = models.TextField()
    created_at = models.DateTimeField()
    queue = models.ForeignKey(
        "queues.Queue", on_delete=models.DO_NOTHING, db_constraint=False, null=True, related_name="subscriptions"
    )
    queue_window = models.IntegerField(null=True)

    class Meta:
        managed = False
        db_table = "consumer_group"

    def __str__(self) -> str:
        return self.name


class GroupMember(DataPlaneModel):
    """One reader of a group, alive until its lease ends."""

    pk = models.CompositePrimaryKey("group_id", "member")
    group = models.ForeignKey(ConsumerGroup, on_delete=models.DO_NOTHING, db_constraint=False, related_name="members")
    member = models.TextField()
    lease_seconds = models.FloatField()
    lease_until = models.DateTimeField()
    joined_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "group_member"
