-- Send copies to a queue, all or none; false where it is closed, full, under maintenance or takes no message so large.
create or replace function signalbox._send_copies(
  p_target text, p_copies signalbox.held_copy[], p_delay_seconds double precision
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_admitted text := current_setting('signalbox.admitted', true); -- of a batch to the source that is under way
begin
  perform signalbox.send_batch(
    p_target,
    c.payloads,
    case when c.attributes is distinct from array_fill(null::jsonb, array[c.messages]) then c.attributes end,
    case when 0 < any(c.priorities) then c.priorities end,
    case when p_delay_seconds is not null then array_fill(p_delay_seconds, array[c.messages]) end,
    case when c.group_ids is distinct from array_fill(null::text, array[c.messages]) then c.group_ids end,
    null,
    case when c.trace_ids is distinct from array_fill(null::text, array[c.messages]) then c.trace_ids end,
    case when c.bodies is distinct from array_fill(null::bytea, array[c.messages]) then c.bodies end
  )
  from (
    select array_agg(u.payload order by u.place) as payloads, array_agg(u.attributes order by u.place) as attributes,
      array_agg(u.priority::integer order by u.place) as priorities,
      array_agg(u.group_id order by u.place) as group_ids,
      array_agg(u.trace_id order by u.place) as trace_ids, array_agg(u.body_sha256 order by u.place) as bodies,
      count(*)::integer as messages
    from unnest(p_copies) with ordinality u(
      subscription_id, held_copy_id, message_id, payload, attributes, group_id, trace_id, priority, body_sha256,
      held_at, place
    )
  ) c;
  perform set_config('signalbox.admitted', coalesce(v_admitted, ''), true);
  return true;
exception
  when sqlstate 'SB429' or sqlstate 'SB421' or sqlstate 'SB423' or sqlstate 'SB413' or sqlstate 'SB503' then
    return false;
end $$;
