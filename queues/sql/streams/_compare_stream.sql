-- Refuse settings that differ from those of an existing stream, and name the first.
create or replace function signalbox._compare_stream(p_stream_id integer, p_settings jsonb, p_tenant text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stream signalbox.stream;
  v_other text;
begin
  select * into v_stream from signalbox.stream s where s.stream_id = p_stream_id;
  perform from signalbox.tenant t where t.tenant_id = v_stream.tenant_id and t.name <> p_tenant;
  if found then
    perform signalbox._refuse('tenant', format('is %s here, and the stream %s belongs to another',
      quote_literal(p_tenant), quote_literal(v_stream.name)));
  end if;
  select s.key into v_other from jsonb_each(p_settings) s where to_jsonb(v_stream) -> s.key is distinct from s.value
    limit 1;
  if found then
    perform signalbox._refuse(v_other, format('is %s in the stream %s that exists, and %s here',
      to_jsonb(v_stream) -> v_other, quote_literal(v_stream.name), p_settings -> v_other));
  end if;
end $$;
