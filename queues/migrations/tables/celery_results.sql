-- Tables of the result backend for Celery.

-- Results of tasks and groups by Celery's key, as Celery wrote them. `expires_at` is infinity for a result without end.
create table if not exists signalbox.celery_result (
  key text primary key check (length(key) between 1 and 400),
  value bytea,
  expires_at timestamptz not null
);
create index if not exists celery_result_expiry on signalbox.celery_result (expires_at);

-- Ended parts of a chord by their task ids; a task that ran twice is one part. The row of `key` in celery_result is
-- locked while a part is counted.
create table if not exists signalbox.celery_part (
  key text not null references signalbox.celery_result on delete cascade,
  part text not null check (length(part) between 1 and 400),
  primary key (key, part)
);
