-- change_visibility(receipt_handle, seconds): hold the lease for this many seconds from now. Returns the new deadline,
-- or null when the lease is no longer held. 0 seconds returns the message at once: it can be received again, and no
-- failure is recorded. An UPDATE that keeps the nonce: a replaced row would lose an ack that is open. Index:
-- lease_pkey.
create or replace function signalbox.change_visibility(receipt_handle text, seconds double precision)
returns timestamptz
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
