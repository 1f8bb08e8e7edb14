"""What many processes write together becomes one transaction: each stages its share, one sends them all and notes that it did.

What is staged is not logged: a crash of the database empties it, and then whoever wanted to send it finds too little and says so.
The ledger has one row for each writer and target: which of its batches was the last.
"""

from django.db import migrations

STAGED = """
create unlogged table signalbox.staged_write (
  stage uuid not null,
  place integer not null,
  staged_at timestamptz not null default clock_timestamp(),
  queue_id integer,
  stream_id integer,
  payloads jsonb[] not null,
  attributes jsonb[],
  priorities integer[],
  delay_seconds double precision[],
  keys text[],
  deduplication_ids text[],
  trace_ids text[],
  primary key (stage, place),
  check (num_nonnulls(queue_id, stream_id) = 1)
);
create index staged_write_age on signalbox.staged_write (staged_at);
"""

# Written rarely, by one transaction for each batch: no chain of versions to speak of.
LEDGER = """
create table signalbox.write_ledger (
  writer text not null,
  target text not null,
  batch bigint not null,
  messages bigint not null,
  written_at timestamptz not null default clock_timestamp(),
  primary key (writer, target)
);
create index write_ledger_age on signalbox.write_ledger (written_at);
"""
BACK = "drop table signalbox.write_ledger; drop table signalbox.staged_write;"


class Migration(migrations.Migration):
    dependencies = [("queues", "0017_archive")]
    operations = [migrations.RunSQL(STAGED + LEDGER, BACK)]
