-- change_visibility(receipt_handle, seconds): keep the message for so long from now; returns the new deadline, or null
-- when the lease is no longer held. 0 seconds gives it back at once: claimable again, no failure recorded.
-- An UPDATE that keeps the nonce (a replaced row would lose an ack under way). Index: lease_pkey.
create or replace function signalbox.change_visibility(receipt_handle text, seconds double precision) returns timestamptz
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_deadline timestamptz;
begin
  select c.deadline
  into v_deadline
  from signalbox.change_visibility_batch(array[change_visibility.receipt_handle], change_visibility.seconds) c;
  return v_deadline;
end $$;
