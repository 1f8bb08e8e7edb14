-- Return whether each of these sequences can be read.
create or replace function signalbox._are_readable(p_registers regclass[]) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_sequence_last_value(r) from unnest(p_registers) r;
  return true;
exception
  when internal_error or data_corrupted or io_error or undefined_file then
    return false;
end $$;
