-- Check the results of ack, which history keeps: as many as there are handles.
create or replace function signalbox._check_results(p_results jsonb[], p_handles integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes integer;
begin
  if cardinality(p_results) <> coalesce(p_handles, 0) then
    perform signalbox._refuse(
      'results', format('has %s entries for %s receipt handles', cardinality(p_results), coalesce(p_handles, 0))
    );
  end if;
  select max(octet_length(r::text)) into v_bytes from unnest(p_results) r;
  if v_bytes > 65536 then
    perform signalbox._refuse('results', format('has one of %s bytes of JSON: at most 65536', v_bytes));
  end if;
  if v_bytes > 256 then
    perform signalbox._check_readable('results', r) from unnest(p_results) r;
  end if;
end $$;
