-- Turn up to p_limit dead letters of a dead-letter queue, oldest first, into messages of that queue, for a consumer
-- that receives from it. One statement deletes and sends, so that no redrive can take a message that a consumer has.
-- The new message says in its attributes where it comes from. Returns how many. Index: dead_letter_queue.
create or replace function signalbox._receive_dead_letters(p_queue_id integer, p_limit integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_moved integer;
  v_gone bigint[];
begin
  if not exists (select from signalbox.dead_letter d where d.queue_id = p_queue_id) then
    return 0;
  end if;
  perform signalbox._ensure_segment(coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0) + p_limit);
  with picked as materialized (
    select d.dead_letter_id
    from signalbox.dead_letter d
    where d.queue_id = p_queue_id
    order by d.dead_letter_id
    limit p_limit
    for update skip locked
  ), gone as (
    delete from signalbox.dead_letter d
    using picked p
    where d.dead_letter_id = any(array[p.dead_letter_id])
    returning d.*
  ), drawn as materialized (
    select nextval('signalbox.message_id'::regclass) as new_id, g.*
    from (select * from gone order by dead_letter_id) g
  ), logged as (
    insert into signalbox.message (
      message_id, queue_id, payload, attributes, group_id, trace_id, priority, sent_at, body_sha256, body_bytes
    )
    select d.new_id, p_queue_id, d.payload, jsonb_build_object('dead_letter', jsonb_build_object(
        'message_id', d.message_id, 'queue', d.source_queue, 'died_at', d.died_at,
        'reason', d.reason, 'error_class', d.error_class, 'error', left(d.error, 1000)
      )) || coalesce(d.attributes, '{}'),  -- one that died here before keeps its first origin
      d.group_id, d.trace_id, 0::smallint, clock_timestamp(), d.body_sha256, d.body_bytes
    from drawn d
  ), pointed as (
    insert into signalbox.body_pointer (sha256, message_id)
    select d.body_sha256, d.new_id from drawn d where d.body_sha256 is not null
  ), noted as (
    insert into signalbox.redriven (dead_letter_id, message_id, queue_id, redriven_at, actor)
    select d.dead_letter_id, d.message_id, p_queue_id, clock_timestamp(), 'consumer of the dead-letter queue'
    from drawn d
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount)
    select d.source_queue_id, {event.dead_received}, count(*) from drawn d group by d.source_queue_id
    union all
    select p_queue_id, {event.released}, count(*) from drawn having count(*) > 0
    union all
    select p_queue_id, {event.published}, count(*) from drawn having count(*) > 0
  ), readied as (
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select p_queue_id, 0::smallint, 0::smallint, signalbox.clock_time(), d.new_id
    from drawn d
  )
  select array_agg(d.message_id), count(*) into v_gone, v_moved from drawn d;
  perform signalbox._leave_lanes(v_gone); -- frees the FIFO groups that these dead letters held
  return v_moved;
end $$;
