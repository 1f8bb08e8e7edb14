-- A textbook queue: one table, an index on visibility; a claim hides the row, an acknowledgement deletes it. Without
-- history, counters and fences it is a demanding yardstick.
create schema textbook;
create table textbook.message (
  message_id bigint generated always as identity primary key,
  payload jsonb not null,
  sent_at timestamptz not null default now(),
  visible_at timestamptz not null default now(),
  receive_count integer not null default 0
);
create index message_visible on textbook.message (visible_at);
