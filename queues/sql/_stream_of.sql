-- A stream or a group by its name, or the refusal that names what does not exist. No locks; index: the unique names.
-- A record of the table's columns: no signature names the table's type, so that migrations can take the table away.
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

create or replace function signalbox._group_of(p_stream_id integer, p_group text) returns record
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_group signalbox.consumer_group;
begin
  select * into v_group from signalbox.consumer_group g where g.stream_id = p_stream_id and g.name = p_group;
  if not found then
    raise exception using
      errcode = 'SB404',
      message = format('group %s does not exist', coalesce(quote_literal(left(p_group, 120)), 'null')),
      hint = 'Make it with signalbox.create_group(stream, name).',
      column = 'group_name';
  end if;
  return v_group;
end $$;

create or replace function signalbox._refuse_unknown_stream(p_stream text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB404',
    message = format('stream %s does not exist', coalesce(quote_literal(left(p_stream, 120)), 'null')),
    hint = 'Make it with signalbox.create_stream(name).',
    column = 'stream';
end $$;
