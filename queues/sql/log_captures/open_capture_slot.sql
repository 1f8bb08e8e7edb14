-- open_capture_slot(capture_id): make the replication slot of a capture from the log, unless it has one. Returns
-- whether it was made: changes of transactions that begin from then on are captured. A slot keeps the log of the server
-- until upkeep has read it. Must be alone in its transaction; waits for the transactions that are open.
create or replace function signalbox.open_capture_slot(capture_id integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_slot text := (select c.slot from signalbox.capture c where c.capture_id = open_capture_slot.capture_id);
begin
  if v_slot is null or exists (select from pg_replication_slots s where s.slot_name = v_slot) then
    return false;
  end if;
  perform pg_create_logical_replication_slot(v_slot, 'pgoutput');
  return true;
end $$;
