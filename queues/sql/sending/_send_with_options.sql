-- Send a batch with attributes, priorities, groups or trace ids to a queue where they change no order and no delay: a
-- standard queue without limited groups. The messages are ready at once, in the order of the payloads. Returns their
-- ids.
create or replace function signalbox._send_with_options(
  p_queue_id integer, p_payloads jsonb[], p_attributes jsonb[], p_priorities int[], p_group_ids text[],
  p_trace_ids text[]
) returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer := cardinality(p_payloads);
  v_ids bigint[];
begin
  perform signalbox._check_options(g.attributes, coalesce(g.priority, 0), 0, g.group_id, null, g.trace_id)
  from unnest(p_attributes, p_priorities, p_group_ids, p_trace_ids) g(attributes, priority, group_id, trace_id);
  perform signalbox._check_binary(g.payload, g.attributes, false)
  from unnest(p_payloads, p_attributes) g(payload, attributes)
  where g.attributes ? 'binary_content_type';
  perform signalbox._use_priority(p_queue_id, u.priority::smallint)
  from (select distinct p as priority from unnest(p_priorities) p where p > 0 order by 1) u;
  v_ids := array(select nextval('signalbox.message_id'::regclass) from generate_series(1, v_count));
  if v_ids[v_count] > coalesce(pg_sequence_last_value('signalbox.log_end'::regclass), 0) then
    perform signalbox._ensure_segment(v_ids[1]), signalbox._ensure_segment(v_ids[v_count]);
  end if;
  with given as materialized (
    select g.message_id, g.payload, g.attributes, coalesce(g.priority, 0)::smallint as priority, g.group_id, g.trace_id,
      g.place
    from unnest(v_ids, p_payloads, p_attributes, p_priorities, p_group_ids, p_trace_ids) with ordinality
      g(message_id, payload, attributes, priority, group_id, trace_id, place)
  ), logged as (
    insert into signalbox.message (
      message_id, queue_id, payload, attributes, group_id, trace_id, priority, sent_at
    )
    select g.message_id, p_queue_id, g.payload, g.attributes, g.group_id, g.trace_id, g.priority, clock_timestamp()
    from given g
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount) values (p_queue_id, {event.published}, v_count)
  ), moment as materialized (
    select signalbox.clock_time() as at
  )
  insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
  select p_queue_id, g.priority, 0::smallint, m.at + g.place * interval '1 microsecond', g.message_id
  from moment m, given g
  order by g.place;
  return v_ids;
end $$;
