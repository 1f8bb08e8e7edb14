-- settle_redriven(redrive_id, after, most): note the outcomes of messages that a redrive sent. It reads the first
-- `most` messages without an outcome and with a redriven_id above `after`. Returns how many it read, the last of them,
-- and the outcomes that it noted, earliest first, with their redriven_ids. An outcome is one character: a for
-- acknowledged, s for dead again with the same cause, n for dead again with another cause, g for purged or expired. A
-- few index probes for each message; history is read for fifty messages at a time, and only for those that are neither
-- waiting nor in flight. Callers take turns by the lock of the job's row. Indexes: redriven_job, redriven_message,
-- dead_letter_message_id_key, lease_pkey, scheduled_message, waiting_message, ready_claim, failure_message,
-- settled_ids (BRIN) on the days since.
create or replace function signalbox.settle_redriven(redrive_id bigint, after bigint default 0, most int default 1000)
returns table (looked bigint, last_id bigint, outcomes text, redriven_ids bigint[])
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tomorrow timestamptz := clock_timestamp() + interval '1 day'; -- later partitions are prepared and empty
begin
  return query
  with open as materialized (
    select r.redriven_id, r.message_id, r.dead_letter_id, r.queue_id, r.redriven_at, r.priority, r.fingerprint
    from signalbox.redriven r
    where r.redrive_id = settle_redriven.redrive_id and r.outcome is null and r.redriven_id > settle_redriven.after
    order by r.redriven_id
    limit settle_redriven.most
  ), again as materialized (
    -- A message that died again is a dead letter, or another redrive has sent it.
    select o.redriven_id, a.fingerprint, a.at
    from open o
    cross join lateral (
      select d.fingerprint, d.died_at as at
      from signalbox.dead_letter d
      where d.message_id = any(array[o.message_id]) and d.dead_letter_id > o.dead_letter_id
      union all
      select n.fingerprint, n.redriven_at
      from signalbox.redriven n
      where n.message_id = any(array[o.message_id]) and n.dead_letter_id > o.dead_letter_id
      order by at
      limit 1
    ) a
  ), gone as materialized (
    select o.*
    from open o
    where not exists (select from again a where a.redriven_id = o.redriven_id)
      and not exists (select from signalbox.lease l where l.message_id = any(array[o.message_id]))
      and not exists (select from signalbox.scheduled s where s.message_id = any(array[o.message_id]))
      and not exists (select from signalbox.waiting w where w.message_id = any(array[o.message_id]))
      and not exists (
        select
        from signalbox.ready r
        where r.queue_id = o.queue_id and r.priority = o.priority and r.ready_at = o.redriven_at
          and r.message_id = o.message_id
      )
  ), buried as materialized (
    -- Dead again, and deleted since.
    select g.redriven_id, f.fingerprint, f.failed_at as at
    from gone g
    cross join lateral (
      select f.fingerprint, f.failed_at
      from signalbox.failure f
      where f.message_id = g.message_id and f.failed_at >= g.redriven_at and f.failed_at <= v_tomorrow
        and f.retry_at is null
      order by f.failed_at
      limit 1
    ) f
  ), chunks as materialized (
    select c.chunk, min(c.message_id) as lowest, max(c.message_id) as highest, array_agg(c.message_id) as ids,
      min(c.redriven_at) as since
    from (
      select g.message_id, g.redriven_at, (row_number() over (order by g.message_id) - 1) / 50 as chunk
      from gone g
      where not exists (select from buried b where b.redriven_id = g.redriven_id)
    ) c
    group by c.chunk
  ), history as materialized (
    select distinct on (m.message_id) m.message_id, s.outcome, s.settled_at
    from chunks c
    cross join lateral (
      select s.outcome, s.settled_at, s.message_ids
      from signalbox.settled s
      where s.settled_at >= c.since - interval '1 hour' and s.settled_at <= v_tomorrow -- clocks are set back
        and s.message_ids[1] <= c.highest
        and s.message_ids[cardinality(s.message_ids)] >= c.lowest
        and s.message_ids && c.ids
    ) s
    cross join lateral unnest(s.message_ids) m(message_id)
    where m.message_id = any(c.ids)
    order by m.message_id, s.settled_at desc
  ), known as materialized (
    select a.redriven_id,
      case
        when signalbox._same_cause(
          a.fingerprint, coalesce(o.fingerprint, signalbox._died_of(o.message_id, o.redriven_at))
        ) then {redriven.failed_same}
        else {redriven.failed_new}
      end as letter,
      a.at
    from (select * from again union all select * from buried) a
    join open o on o.redriven_id = a.redriven_id
    union all
    select g.redriven_id, case h.outcome when {outcome.acked} then {redriven.succeeded}
      else {redriven.gone} end, h.settled_at
    from history h
    join gone g on g.message_id = h.message_id
  ), noted as (
    update signalbox.redriven r
    set outcome = k.letter, settled_at = k.at
    from known k
    where r.redriven_id = any(array[k.redriven_id])
  )
  select (select count(*) from open), (select max(o.redriven_id) from open o),
    coalesce((select string_agg(k.letter::text, '' order by k.at, k.redriven_id) from known k), ''),
    coalesce((select array_agg(k.redriven_id order by k.at, k.redriven_id) from known k), '{}');
end $$;
