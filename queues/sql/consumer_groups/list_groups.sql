-- list_groups(stream): the consumer groups of a stream by name, the queue that each feeds, and how far each has read:
-- the numbers of group_numbers. Moves nothing.
create or replace function signalbox.list_groups(stream text)
returns table (
  group_id integer, name text, queue text, members integer, committed bigint, lag_messages bigint,
  lag_seconds double precision, lost bigint, committed_at timestamptz
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(list_groups.stream);
begin
  return query
  select g.group_id, g.name, q.name::text, n.members, n.committed, n.lag_messages, n.lag_seconds, n.lost, n.committed_at
  from signalbox.group_numbers(
    array(select o.group_id from signalbox.consumer_group o where o.stream_id = v_stream.stream_id)
  ) n
  join signalbox.consumer_group g on g.group_id = n.group_id
  left join signalbox.queue q on q.queue_id = g.queue_id
  order by g.name;
end $$;
