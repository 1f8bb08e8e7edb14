-- The row of a stream by its name, or the refusal of a name that does not exist. No locks; index: the unique names. A
-- record of the table's columns: no signature names the table's type, so that migrations can change the table.
create or replace function signalbox._stream_of(p_stream text) returns record
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stream signalbox.stream;
begin
  select * into v_stream from signalbox.stream s where s.name = p_stream;
  if not found then
    perform signalbox._refuse_unknown_stream(p_stream);
  end if;
  return v_stream;
end $$;
