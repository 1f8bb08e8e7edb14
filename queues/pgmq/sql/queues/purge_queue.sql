-- purge_queue(queue_name): move every message that exists now to the trash, for a day; those in flight too. Returns how
-- many. The purge is listed in the console, which can undo it, and has a row of the audit.
create or replace function pgmq.purge_queue(queue_name text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  c_states constant text[] := '{ready,scheduled,waiting,leased}';
  v_bound bigint := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_purged bigint := 0;
  v_count bigint;
begin
  loop
    v_count := signalbox.purge_to_trash(purge_queue.queue_name, v_bound, c_states, 10000);
    v_purged := v_purged + v_count;
    exit when v_count = 0;
  end loop;
  return v_purged;
end $$;
