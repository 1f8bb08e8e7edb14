-- The queue in whose log a message is, or was kept last, and when it was sent: one probe for each queue.
create or replace function signalbox._log_of(p_message_id bigint)
returns table (queue_id integer, sent_at timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select q.queue_id, found.sent_at
  from signalbox.queue q
  cross join lateral (
    select k.sent_at, k.kept_at
    from signalbox.message_kept k
    where k.queue_id = q.queue_id and k.message_id = p_message_id
    union all
    select m.sent_at, '-infinity'
    from signalbox.message m
    where m.queue_id = q.queue_id and m.message_id = p_message_id
  ) found
  order by found.kept_at desc
  limit 1;
end $$;
