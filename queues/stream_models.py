"""Streams as Django models: read-only, like all of the data plane; `queues.control.streams` changes them."""

from __future__ import annotations

from django.db import models

from queues.data_plane import DataPlaneModel, StoredJson


class Stream(DataPlaneModel, table="stream"):
    """A log that is kept for its retention, in partitions, and read by groups."""

    stream_id = models.AutoField(primary_key=True)
    name = models.TextField(unique=True)
    tenant = models.ForeignKey(
        "queues.Tenant", on_delete=models.DO_NOTHING, db_constraint=False, related_name="streams"
    )
    partitions = models.SmallIntegerField()
    retention_seconds = models.FloatField()
    retention_bytes = models.BigIntegerField()
    retention_messages = models.BigIntegerField()
    compaction = models.BooleanField()
    dedup_window_seconds = models.FloatField()
    max_payload_bytes = models.IntegerField()
    closed = models.BooleanField()
    alert_group_lag_seconds = models.FloatField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class StreamMessage(DataPlaneModel, table="stream_message"):
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


class ConsumerGroup(DataPlaneModel, table="consumer_group"):
    """The readers that share a stream. With a queue it is a subscription: its messages are sent there."""

    group_id = models.AutoField(primary_key=True)
    stream = models.ForeignKey(Stream, on_delete=models.DO_NOTHING, db_constraint=False, related_name="groups")
    name = models.TextField()
    created_at = models.DateTimeField()
    queue = models.ForeignKey(
        "queues.Queue", on_delete=models.DO_NOTHING, db_constraint=False, null=True, related_name="subscriptions"
    )
    queue_window = models.IntegerField(null=True)
    filter = models.TextField()
    paused = models.BooleanField()
    delay_seconds = models.FloatField(null=True)

    def __str__(self) -> str:
        return self.name


class ConsumerGroupMember(DataPlaneModel, table="group_member"):
    """A reader of a consumer group, alive until its lease ends; pages read it as `group.members`."""

    pk = models.CompositePrimaryKey("group_id", "member")
    group = models.ForeignKey(ConsumerGroup, on_delete=models.DO_NOTHING, db_constraint=False, related_name="members")
    member = models.TextField()
    lease_seconds = models.FloatField()
    lease_until = models.DateTimeField()
    joined_at = models.DateTimeField()
