-- Staged writes: many processes (a Spark job) write one batch, and one transaction sends it.

-- The shares of a batch. Unlogged: a crash of the database empties it, and the sender then reports the missing shares.
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

-- The last batch of each writer to each target, so that a repeated batch is not sent twice.
create table signalbox.write_ledger (
  writer text not null,
  target text not null,
  batch bigint not null,
  messages bigint not null,
  written_at timestamptz not null default clock_timestamp(),
  primary key (writer, target)
);
create index write_ledger_age on signalbox.write_ledger (written_at);
