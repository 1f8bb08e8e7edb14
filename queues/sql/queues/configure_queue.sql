-- configure_queue(name, settings): change the named settings and leave the others. Returns the queue's id. Unknown
-- names, wrong types and values out of range are errors that name the setting, and nothing is changed. A dead-letter
-- queue that is named and does not exist is made. `mode` changes only while the queue is closed and empty, and waits a
-- little for transactions that may have found it open. Locks the queue's row, for which no other verb waits.
create or replace function signalbox.configure_queue(name text, settings jsonb) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_settings jsonb := signalbox._check_settings(configure_queue.settings);
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = configure_queue.name for no key update;
  if not found then
    perform signalbox._refuse_unknown_queue(configure_queue.name);
  end if;
  return signalbox._configure_queue(v_queue_id, v_settings, false);
end $$;
