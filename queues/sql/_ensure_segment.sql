-- Make sure that the log has the segment for a message id: normally upkeep has made it long before. One caller creates,
-- the others wait for it. The table is built apart and attached, so no reader or sender of the log is in the way.
create or replace function signalbox._ensure_segment(p_message_id bigint) returns boolean
language plpgsql
as $$
declare
  c_segment_ids constant bigint := 1000000;
  v_number bigint := (p_message_id - 1) / c_segment_ids;
  v_name text := 'message_' || v_number;
begin
  if to_regclass('signalbox.' || v_name) is not null then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtext('signalbox.segment'), 0);
  -- Asks the catalog anew: an advisory lock brings no invalidations, so to_regclass may still answer from before the wait.
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
    v_name, v_number * c_segment_ids + 1, (v_number + 1) * c_segment_ids + 1
  );
  return true;
end $$;
