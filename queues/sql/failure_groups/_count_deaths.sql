-- Count new dead letters by fingerprint. Triggers of the table count every way into it and out of it, in its own
-- transaction; they append rows and never wait. One row for each fingerprint, queue and ten minutes. A dead letter that
-- is restored did not die again: it is in the trash while restore puts it back. A death after a redrive is marked when
-- the message had died of the same cause before. Indexes: failure_message, trash_message.
create or replace function signalbox._count_deaths() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.cluster_delta (
    fingerprint, queue_id, bucket_at, deaths, dead, first_at, last_at, reason, error_class, error, frame, again_at,
    again_redrive_id
  )
  select s.fingerprint, s.queue_id, s.bucket_at, s.deaths, s.dead, s.first_at, s.last_at, s.reason, s.error_class,
    s.error,
    signalbox._top_frame(s.details), s.again_at, s.again_redrive_id
  from (
    select b.fingerprint, b.source_queue_id as queue_id,
      date_bin('10 minutes', b.died_at, timestamptz '2000-01-01 00:00:00+00') as bucket_at,
      count(*) as dead, count(*) filter (where not p.put_back) as deaths, min(b.died_at) as first_at,
      max(b.died_at) as last_at,
      min(b.reason) as reason, min(b.error_class) as error_class, min(left(b.error, 500)) as error,
      min(b.details) as details,
      max(case when a.again then b.died_at end) as again_at,
      max(case when a.again then a.redrive_id end) as again_redrive_id
    from buried b
    cross join lateral (select signalbox._is_put_back(b.message_id, b.dead_letter_id) as put_back) p
    cross join lateral (
      select (b.redrive_history -> -1 ->> 'redrive_id')::bigint as redrive_id,
        not p.put_back and b.redrive_count > 0 and signalbox._died_before(
          b.message_id, b.fingerprint, (b.redrive_history -> -1 ->> 'redriven_at')::timestamptz
        ) as again
    ) a
    group by b.fingerprint, b.source_queue_id, bucket_at
  ) s;
  return null;
end $$;
