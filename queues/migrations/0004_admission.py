"""Admission: what a queue and a tenant may take, and deduplication ids that are held as long as their message is."""

from django.db import migrations, models

KEYS = """
create table signalbox.dedup_in_flight (
  queue_id integer not null,
  deduplication_id text not null,
  message_id bigint not null,
  request_hash bytea not null,
  primary key (queue_id, deduplication_id)
);
create unique index dedup_in_flight_message on signalbox.dedup_in_flight (message_id);
alter table signalbox.dedup_in_flight set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
"""

# One gauge for each queue and each tenant with limits on sending. Its registers are sequences, because what they say must
# be seen by everybody at once, whoever's transaction is open, and must not be undone by a rollback.
GAUGES = """
create table signalbox.gauge (
  gauge_id integer generated always as identity primary key,
  queue_id integer unique,
  tenant_id integer unique,
  next_free regclass not null,
  last_xid regclass not null,
  admitted regclass not null,
  base regclass not null,
  bytes_held regclass not null,
  mean_bytes regclass not null,
  oldest regclass not null,
  evaluated regclass not null,
  lost regclass not null,
  mark_admitted regclass not null,
  mark_xid regclass not null
);
create table signalbox.refusal (
  queue_id integer not null,
  reason text not null,
  counter regclass not null,
  counted bigint not null default 0,
  refused_at timestamptz,
  primary key (queue_id, reason)
);
"""


def _limits(model: str) -> list[migrations.AddField]:
    return [
        migrations.AddField(model, "max_backlog_messages", models.BigIntegerField(db_default=0)),
        migrations.AddField(model, "max_backlog_bytes", models.BigIntegerField(db_default=0)),
        migrations.AddField(model, "max_oldest_age_seconds", models.FloatField(db_default=0.0)),
        migrations.AddField(model, "max_in_flight", models.BigIntegerField(db_default=0)),
        migrations.AddField(model, "publish_rate_per_second", models.FloatField(db_default=0.0)),
    ]


class Migration(migrations.Migration):
    dependencies = [("queues", "0003_lanes")]
    operations = [
        *_limits("queue"),
        migrations.AddField("queue", "dedup_scope", models.CharField(db_default="window", max_length=20)),
        migrations.AddField("queue", "guards", models.SmallIntegerField(db_default=0)),
        *_limits("tenant"),
        migrations.AddField("tenant", "max_queues", models.BigIntegerField(db_default=0)),
        migrations.AddField("tenant", "max_retention_seconds", models.FloatField(db_default=0.0)),
        migrations.AddField("tenant", "max_long_polls", models.BigIntegerField(db_default=0)),
        migrations.RunSQL(KEYS),
        migrations.RunSQL(GAUGES),
    ]
