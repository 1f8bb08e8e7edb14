-- The row of a consumer group; refuses an unknown group.
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
