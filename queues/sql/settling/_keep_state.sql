-- Store a state in place of an earlier one; JSON's null deletes it, and leaves the number of deferrals.
create or replace function signalbox._keep_state(p_queue_id integer, p_message_id bigint, p_state jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_state = 'null' then
    delete from signalbox.message_state s where s.message_id = p_message_id and s.deferrals = 0;
    update signalbox.message_state s set state = null where s.message_id = p_message_id;
    return;
  end if;
  insert into signalbox.message_state (message_id, queue_id, state)
  values (p_message_id, p_queue_id, p_state)
  on conflict (message_id) do update set queue_id = excluded.queue_id, state = excluded.state;
end $$;
