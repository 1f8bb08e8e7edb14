-- Delete dead letters, as delete_dead_letters does, without a row in the audit: jobs have one of their own.
create or replace function signalbox._delete_dead_letters(
  p_ids bigint[], p_outcome "char", p_dead_event smallint, p_held_event smallint, p_trash_batch_id bigint default null
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
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
    returning d.*
  ), trashed as (
    insert into signalbox.trash (
      trash_batch_id, position, message_id, queue_id, state, priority, receive_count, letter, body_sha256
    )
    select p_trash_batch_id, g.dead_letter_id, g.message_id, g.source_queue_id, 'dead', g.priority, g.receive_count,
      to_jsonb(g), g.body_sha256
    from gone g
    where p_trash_batch_id is not null
  ), settled as (
    insert into signalbox.settled (queue_id, outcome, settled_at, message_ids, receive_counts, work_ms)
    select g.source_queue_id, p_outcome, clock_timestamp(), array_agg(g.message_id order by g.message_id),
      array_agg(g.receive_count order by g.message_id), '{}'
    from gone g
    where p_trash_batch_id is null
    group by g.source_queue_id
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount)
    select g.source_queue_id, p_dead_event, count(*) from gone g group by g.source_queue_id
    union all
    select g.queue_id, p_held_event, count(*) from gone g group by g.queue_id
  )
  select array_agg(g.message_id) into v_gone from gone g;
  if p_trash_batch_id is not null and v_gone is not null then
    perform signalbox._count_trashed(p_trash_batch_id, cardinality(v_gone));
  end if;
  perform signalbox._leave_lanes(v_gone); -- frees the FIFO groups that these dead letters held
  return coalesce(cardinality(v_gone), 0);
end $$;
