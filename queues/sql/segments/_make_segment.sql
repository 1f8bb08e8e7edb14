-- Make a segment of the log. One caller makes it, the others wait for that one. The table is built separately and
-- attached, so that it need not wait for readers and senders of the log. Runs with the owner's rights, since only the
-- owner may attach it: a sender must not fail while no upkeep runs. A role that does not own the log gets no segment
-- further ahead than the ids that are drawn.
create or replace function signalbox._make_segment(p_number bigint) returns boolean
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  c_segment_ids constant bigint := 1000000;
  c_batch_ids constant bigint := 100000;
  v_name text := 'message_' || p_number;
  v_highest bigint := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0) + c_batch_ids;
begin
  if not signalbox._owns_audit() and p_number not between 0 and v_highest / c_segment_ids then
    perform signalbox._refuse('message_id', 'is of a segment that no message has reached');
  end if;
  perform pg_advisory_xact_lock(hashtext('signalbox.segment'), 0);
  -- Asks the catalog again: an advisory lock brings no invalidations, so to_regclass may still answer from before the
  -- wait.
  perform from pg_class c where c.relname = v_name and c.relnamespace = 'signalbox'::regnamespace;
  if found then
    return false;
  end if;
  execute format('create table signalbox.%I (like signalbox.message including defaults including constraints)', v_name);
  execute format(
    'alter table signalbox.%I add primary key (queue_id, message_id)', v_name
  );
  execute format(
    'alter table signalbox.message attach partition signalbox.%I for values from (%s) to (%s)',
    v_name, p_number * c_segment_ids + 1, (p_number + 1) * c_segment_ids + 1
  );
  return true;
end $$;
revoke execute on function signalbox._make_segment(bigint) from public;
