-- Make sure that the log has the segment of a message id: normally upkeep has made it long before.
create or replace function signalbox._ensure_segment(p_message_id bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  c_segment_ids constant bigint := 1000000;
begin
  if to_regclass('signalbox.message_' || (p_message_id - 1) / c_segment_ids) is not null then
    return false;
  end if;
  return signalbox._make_segment((p_message_id - 1) / c_segment_ids);
end $$;
