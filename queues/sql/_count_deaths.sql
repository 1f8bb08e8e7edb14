-- Who dies and who leaves the dead, by fingerprint. Triggers of the table, so that every way into it and out of it is
-- counted, in its own transaction; they append and wait for nobody. One row for each fingerprint, queue and ten minutes.
-- A letter that is put back did not die again: it is in the trash as long as restore puts it back. A death after a redrive
-- says so when the message had died of the same before. Indexes: failure_message, trash_message.
create or replace function signalbox._count_deaths() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.cluster_delta (
    fingerprint, queue_id, bucket_at, deaths, dead, first_at, last_at, reason, error_class, error, frame, again_at, again_redrive_id
  )
  select s.fingerprint, s.queue_id, s.bucket_at, s.deaths, s.dead, s.first_at, s.last_at, s.reason, s.error_class, s.error,
    signalbox._top_frame(s.details), s.again_at, s.again_redrive_id
  from (
    select b.fingerprint, b.source_queue_id as queue_id,
      date_bin('10 minutes', b.died_at, timestamptz '2000-01-01 00:00:00+00') as bucket_at,
      count(*) as dead, count(*) filter (where not p.put_back) as deaths, min(b.died_at) as first_at, max(b.died_at) as last_at,
      min(b.reason) as reason, min(b.error_class) as error_class, min(left(b.error, 500)) as error, min(b.details) as details,
      max(case when a.again then b.died_at end) as again_at, max(case when a.again then a.redrive_id end) as again_redrive_id
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

create or replace function signalbox._count_departures() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.cluster_delta (fingerprint, queue_id, deaths, dead)
  select g.fingerprint, g.source_queue_id, 0, -count(*)
  from gone g
  group by g.fingerprint, g.source_queue_id;
  return null;
end $$;

-- Does this letter come back from the trash? A letter that is new has a number of its own.
create or replace function signalbox._is_put_back(p_message_id bigint, p_dead_letter_id bigint) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from signalbox.trash t
    where t.message_id = p_message_id and (t.letter ->> 'dead_letter_id')::bigint = p_dead_letter_id
  );
end $$;

-- Did the message die of this, or of what people merged with it, before it was redriven? Its last failure of each life has no retry.
create or replace function signalbox._died_before(p_message_id bigint, p_fingerprint text, p_redriven_at timestamptz) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from signalbox.failure f
    where f.message_id = p_message_id and f.failed_at < p_redriven_at and f.retry_at is null
      and signalbox._same_cause(f.fingerprint, p_fingerprint)
  );
end $$;
