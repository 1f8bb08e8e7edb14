"""A trash: what a purge or a deletion removes stays for some hours, and can be put back."""

from django.db import migrations, models

# A removal is what one job took. A trashed message is a narrow row, its body stays in the log; a dead letter is all here.
TRASH = """
create table signalbox.removal (
  removal_id bigint generated always as identity primary key,
  opened_at timestamptz not null default clock_timestamp(),
  keep_seconds double precision not null check (keep_seconds > 0),
  expires_at timestamptz not null,
  trashed bigint not null default 0,
  restored bigint not null default 0,
  emptied bigint not null default 0
);
create index removal_due on signalbox.removal (expires_at) where trashed > restored + emptied;
create table signalbox.trash (
  removal_id bigint not null,
  turn bigint not null,
  message_id bigint not null,
  queue_id integer not null,
  state text not null,
  priority smallint not null,
  receive_count smallint not null,
  due_at timestamptz,
  trashed_at timestamptz not null default clock_timestamp(),
  letter jsonb,
  body_sha256 bytea,
  primary key (removal_id, turn, message_id)
);
create unique index trash_message on signalbox.trash (message_id);
create index trash_body on signalbox.trash (body_sha256) where body_sha256 is not null;
"""

# They take one argument more now; the scripts make them anew after this migration.
REPLACED = """
drop function if exists signalbox.purge(text, bigint, text[], int, bigint);
drop function if exists signalbox.delete_dead_letters(bigint[]);
drop function if exists signalbox._delete_dead_letters(bigint[], "char", smallint, smallint);
delete from signalbox.sql_script where name in ('purge', 'delete_dead_letters');
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0009_plans")]
    operations = [
        migrations.RunSQL(TRASH, "drop table signalbox.trash; drop table signalbox.removal;"),
        migrations.RunSQL(REPLACED, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Removal",
            fields=[
                ("removal_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("opened_at", models.DateTimeField()),
                ("keep_seconds", models.FloatField()),
                ("expires_at", models.DateTimeField()),
                ("trashed", models.BigIntegerField()),
                ("restored", models.BigIntegerField()),
                ("emptied", models.BigIntegerField()),
            ],
            options={"db_table": "removal", "managed": False},
        ),
        migrations.CreateModel(
            name="Trashed",
            fields=[
                ("message_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("removal_id", models.BigIntegerField()),
                ("turn", models.BigIntegerField()),
                ("state", models.TextField()),
                ("priority", models.SmallIntegerField()),
                ("receive_count", models.SmallIntegerField()),
                ("due_at", models.DateTimeField(null=True)),
                ("trashed_at", models.DateTimeField()),
                ("letter", models.JSONField(null=True)),
            ],
            options={"db_table": "trash", "managed": False},
        ),
    ]
