-- Return whether the archive still needs a day of settled or failed deliveries. The BRIN index answers for old days.
create or replace function signalbox._archive_needs(p_partition text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_below bigint := signalbox._archived_below();
  v_needed boolean := false;
begin
  if v_below is not null and p_partition ~ '^(settled|failure)_' then
    execute format('select exists (select from signalbox.%I p where p.txid >= $1)', p_partition) into v_needed
      using v_below;
  end if;
  return v_needed;
end $$;
