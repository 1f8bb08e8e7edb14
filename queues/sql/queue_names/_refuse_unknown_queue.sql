-- Raise SB404 for a queue that does not exist, or say the new name of a queue that was renamed. The error's column
-- names the argument at fault.
create or replace function signalbox._refuse_unknown_queue(p_queue text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_alias record;
begin
  select q.name, a.renamed_at into v_alias
  from signalbox.queue_alias a
  join signalbox.queue q on q.queue_id = a.queue_id
  where a.name = p_queue;
  if found then
    raise exception using
      errcode = 'SB404',
      message = format('queue %s does not exist: it is called %s since %s', quote_literal(p_queue),
        quote_literal(v_alias.name),
        to_char(v_alias.renamed_at at time zone 'UTC', 'YYYY-MM-DD')),
      hint = 'Use the new name.',
      column = 'queue';
  end if;
  raise exception using
    errcode = 'SB404',
    message = format('queue %s does not exist', coalesce(quote_literal(left(p_queue, 120)), 'null')),
    hint = 'Make it with signalbox.create_queue(name).',
    column = 'queue';
end $$;
