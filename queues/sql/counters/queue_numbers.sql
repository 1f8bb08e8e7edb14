-- queue_numbers(queue_ids): the numbers of queues that a page or a scrape shows, exact at this moment (null: every
-- queue): totals, the totals of about ten seconds ago for rates, since when the oldest message is visible, and
-- consumers seen within 60 seconds. The cost grows with queues, never with messages. Indexes: queue_stat_pkey,
-- claim_floor_queue, consumer_pkey.
create or replace function signalbox.queue_numbers(queue_ids integer[] default null)
returns table (
  queue_id integer,
  totals bigint[],
  earlier bigint[],
  earlier_seconds double precision,
  oldest_visible_seconds double precision,
  consumers bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select t.queue_id, t.totals, e.totals,
    greatest(least(date_part('epoch', clock_timestamp() - e.aggregated_at), 10), 0.5),
    case when o.at is not null then greatest(date_part('epoch', clock_timestamp() - o.at), 0) end,
    (
      select count(*)
      from signalbox.consumer c
      where c.queue_id = t.queue_id and c.last_seen_at > clock_timestamp() - interval '60 seconds'
    )
  from signalbox.queue_totals(queue_numbers.queue_ids) t
  left join lateral (
    (
      select s.totals, s.aggregated_at
      from signalbox.queue_stat s
      where s.queue_id = t.queue_id and s.aggregated_at <= clock_timestamp() - interval '10 seconds'
      order by s.aggregation_id desc
      limit 1
    )
    union all
    (
      select s.totals, s.aggregated_at
      from signalbox.queue_stat s
      where s.queue_id = t.queue_id
      order by s.aggregation_id
      limit 1
    )
    limit 1
  ) e on true
  left join lateral signalbox._oldest_visible(t.queue_id) o on true;
end $$;
