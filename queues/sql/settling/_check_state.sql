-- Check the state that a nack stores for the next delivery. A message with a state has one row, which only the holder
-- of the message's ticket or lease touches; ordinary messages have none. Index: message_state_pkey.
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
