"""Lanes: keys inside a queue with limits of their own. Tickets say which lane they are of; those that may not run yet
wait in a table apart, so that a claim never meets them."""

from django.db import migrations, models

LANES = """
alter table signalbox.ready add column lane text;
alter table signalbox.scheduled add column lane text;
alter table signalbox.lease add column lane text;

create sequence signalbox.place;
create table signalbox.waiting (
  queue_id integer not null,
  lane text not null,
  place bigint not null default nextval('signalbox.place'),
  priority smallint not null,
  receive_count smallint not null,
  waiting_since timestamptz not null default clock_timestamp(),
  message_id bigint not null
);
create index waiting_lane on signalbox.waiting (queue_id, lane, place);
create index waiting_age on signalbox.waiting (queue_id, waiting_since, message_id);
create unique index waiting_message on signalbox.waiting (message_id);

create table signalbox.lane_slot (
  message_id bigint primary key,
  queue_id integer not null,
  lane text not null
);
create index lane_slot_lane on signalbox.lane_slot (queue_id, lane);

create table signalbox.lane_hint (
  queue_id integer not null,
  lane text not null,
  due_at timestamptz not null default clock_timestamp()
);
create index lane_hint_due on signalbox.lane_hint (queue_id, due_at);
create index lane_hint_lane on signalbox.lane_hint (queue_id, lane, due_at);

create table signalbox.lane_limit (
  queue_id integer not null,
  lane text not null,
  max_in_flight integer not null check (max_in_flight between 1 and 100000),
  primary key (queue_id, lane)
);

alter table signalbox.waiting set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.lane_slot set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.lane_hint set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

alter table signalbox.queue_history add column waiting bigint not null default 0;
drop function if exists signalbox.recount(integer);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0002_data_plane")]
    operations = [
        migrations.AddField("queue", "lane_max_in_flight", models.BigIntegerField(db_default=0)),
        migrations.AddField("queue", "lane_release_interval_seconds", models.FloatField(db_default=0.0)),
        migrations.CreateModel(
            name="WaitingTicket",
            fields=[
                ("message_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("lane", models.TextField()),
                ("place", models.BigIntegerField()),
                ("priority", models.SmallIntegerField()),
                ("receive_count", models.SmallIntegerField()),
                ("waiting_since", models.DateTimeField()),
            ],
            options={"db_table": "waiting", "managed": False},
        ),
        migrations.RunSQL(LANES),
    ]
