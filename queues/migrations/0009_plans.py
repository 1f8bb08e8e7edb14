"""What became of what was redriven, noted beside it; and the bodies that a redrive rewrote, as they were before."""

from django.db import migrations, models

# outcome is null while the message may still be delivered: a acked, s dead again of the same cause, n of another, g gone
# (purged or expired). One index gives a job's messages by outcome; those without a job need none.
OUTCOMES = """
alter table signalbox.redriven
  add column outcome "char",
  add column settled_at timestamptz,
  add column fingerprint text,
  add column priority smallint;
drop index signalbox.redriven_job;
create index redriven_job on signalbox.redriven (redrive_id, outcome, redriven_id) where redrive_id is not null;
"""

REWRITTEN = """
create table signalbox.rewritten (
  message_id bigint not null,
  dead_letter_id bigint not null,
  redrive_id bigint,
  rewritten_at timestamptz not null,
  payload jsonb not null,
  primary key (message_id, dead_letter_id)
);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0008_clusters")]
    operations = [
        migrations.RunSQL(OUTCOMES),
        migrations.RunSQL(REWRITTEN),
        migrations.AddField("redriven", "outcome", models.CharField(max_length=1, null=True)),
        migrations.AddField("redriven", "settled_at", models.DateTimeField(null=True)),
        migrations.AddField("redriven", "fingerprint", models.TextField(null=True)),
        migrations.AddField("redriven", "priority", models.SmallIntegerField(null=True)),
        migrations.CreateModel(
            name="Rewritten",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "message_id", "dead_letter_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("message_id", models.BigIntegerField()),
                ("dead_letter_id", models.BigIntegerField()),
                ("redrive_id", models.BigIntegerField(null=True)),
                ("rewritten_at", models.DateTimeField()),
                ("payload", models.JSONField()),
            ],
            options={"db_table": "rewritten", "managed": False},
        ),
    ]
