-- Return bodies that outlived their segment of the log (redriven messages, long delays). A ticket without a body is an
-- error and is never skipped silently: the claim is rolled back and nothing is lost. Index: message_kept_pkey.
create or replace function signalbox._kept_bodies(p_queue_id integer, p_ids bigint[])
returns setof signalbox.message_kept
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_missing bigint;
begin
  select g.id
  into v_missing
  from unnest(p_ids) g(id)
  where not exists (select from signalbox.message m where m.queue_id = p_queue_id and m.message_id = g.id)
    and not exists (select from signalbox.message_kept k where k.queue_id = p_queue_id and k.message_id = g.id)
  limit 1;
  if found then
    raise exception using
      errcode = 'data_corrupted',
      message = format('message %s has a ticket but no body', v_missing);
  end if;
  return query
  select k.*
  from unnest(p_ids) g(id)
  join signalbox.message_kept k on k.queue_id = p_queue_id and k.message_id = g.id
  where not exists (select from signalbox.message m where m.queue_id = p_queue_id and m.message_id = g.id);
end $$;
