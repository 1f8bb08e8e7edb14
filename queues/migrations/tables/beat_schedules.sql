-- Schedules that processes of Celery beat report, one row for each application. `entries` is a list of objects with
-- name, task, queue, schedule, last_at and next_at.
create table if not exists signalbox.beat_schedule (
  application text primary key check (length(application) between 1 and 200),
  sender text not null check (length(sender) between 1 and 200),
  entries jsonb not null,
  reported_at timestamptz not null
);
