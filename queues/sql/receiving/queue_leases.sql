-- queue_leases(queue_ids): leases of each queue (null: every queue): how long the longest-held message has been in
-- flight (null: none is), of the hundred whose leases end first, and how many leases have expired and were not returned
-- yet, up to 1000. One probe of an index from its claim floor, never all messages in flight. Index: lease_deadline.
create or replace function signalbox.queue_leases(queue_ids integer[] default null)
returns table (queue_id integer, held_seconds double precision, expired bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
  select h.queue_id, case when first.leased_at is not null
    then greatest(date_part('epoch', v_now - first.leased_at), 0) end,
    ended.leases
  from signalbox.claim_floor h, lateral (select signalbox.floor_time(h.floor) as at) f
  left join lateral (
    select min(l.leased_at) as leased_at, min(l.deadline) as deadline
    from (
      select l.leased_at, l.deadline
      from signalbox.lease l
      where l.queue_id = h.queue_id and l.deadline >= f.at
      order by l.deadline
      limit 100
    ) l
  ) first on true
  left join lateral (
    select count(*) as leases
    from (
      select from signalbox.lease l
      where l.queue_id = h.queue_id and l.deadline >= f.at and l.deadline <= v_now and first.deadline <= v_now
      limit 1000
    ) e
  ) ended on true
  where h.kind = {floor.lease} and (queue_leases.queue_ids is null or h.queue_id = any(queue_leases.queue_ids));
end $$;
