-- delete_dead_letters(ids): remove these dead letters for good; returns how many there were. One that a redrive or a
-- consumer takes at this moment is left to it. Locks the rows in order. Index: dead_letter_pkey (by any: see ack).
create or replace function signalbox.delete_dead_letters(dead_letter_ids bigint[]) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
  return signalbox._delete_dead_letters(dead_letter_ids, 'p', 18::smallint, 26::smallint);
end $$;

create or replace function signalbox._delete_dead_letters(
  p_ids bigint[], p_outcome "char", p_dead_event smallint, p_held_event smallint
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_gone bigint[];
begin
  with picked as materialized (
    select d.dead_letter_id
    from signalbox.dead_letter d
    where d.dead_letter_id = any(p_ids)
    order by d.dead_letter_id
    for update skip locked
  ), gone as (
    delete from signalbox.dead_letter d
    using picked p
    where d.dead_letter_id = any(array[p.dead_letter_id])
    returning d.message_id, d.queue_id, d.source_queue_id, d.receive_count
  ), settled as (
    insert into signalbox.settled (queue_id, outcome, settled_at, message_ids, receive_counts, work_ms)
    select g.source_queue_id, p_outcome, clock_timestamp(), array_agg(g.message_id order by g.message_id),
      array_agg(g.receive_count order by g.message_id), '{}'
    from gone g
    group by g.source_queue_id
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount)
    select g.source_queue_id, p_dead_event, count(*) from gone g group by g.source_queue_id
    union all
    select g.queue_id, p_held_event, count(*) from gone g group by g.queue_id
  )
  select array_agg(g.message_id) into v_gone from gone g;
  perform signalbox._leave_lanes(v_gone); -- one that held its FIFO group lets the next go
  return coalesce(cardinality(v_gone), 0);
end $$;
