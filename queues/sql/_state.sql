-- What a failed delivery leaves for the next one (nack's state): one row for a message that has any, touched only by
-- whoever holds the message's ticket or lease. Ordinary messages have none and nobody looks. Index: message_state_pkey.
create or replace function signalbox._check_state(p_state jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(p_state::text) > 16384 then
    perform signalbox._refuse('state', format('is %s bytes of JSON: at most 16384', octet_length(p_state::text)));
  end if;
  perform signalbox._check_readable('state', p_state);
end $$;

-- Keep this state in the place of an earlier one; JSON's null forgets it.
create or replace function signalbox._keep_state(p_queue_id integer, p_message_id bigint, p_state jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_state = 'null' then
    perform signalbox._forget_states(array[p_message_id]);
    return;
  end if;
  insert into signalbox.message_state (message_id, queue_id, state)
  values (p_message_id, p_queue_id, p_state)
  on conflict (message_id) do update set queue_id = excluded.queue_id, state = excluded.state;
end $$;

create or replace function signalbox._state_of(p_message_id bigint) returns jsonb
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select s.state from signalbox.message_state s where s.message_id = p_message_id);
end $$;

-- These messages are settled or dead: nobody will ask for their state again.
create or replace function signalbox._forget_states(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.message_state s where s.message_id = any(p_message_ids);
end $$;
