-- Drop the publication and the replication slot of a capture. The slot goes at once, whatever becomes of the
-- transaction.
create or replace function signalbox._drop_capture_slot(p_slot text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('drop publication if exists %I', p_slot);
  perform pg_drop_replication_slot(s.slot_name) from pg_replication_slots s where s.slot_name = p_slot;
exception
  when object_in_use then
    perform signalbox._refuse('stream', 'has a capture whose slot is being read: try again');
end $$;
