-- Refuse an option whose array has another length than the payloads.
create or replace function signalbox._check_batch_length(p_field text, p_length integer, p_expected integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_length <> p_expected then
    perform signalbox._refuse(p_field, format('has %s entries for %s payloads', p_length, p_expected));
  end if;
end $$;
