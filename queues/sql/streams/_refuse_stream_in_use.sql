-- Refuse to delete a stream that is in use, by the first thing that is in the way.
create or replace function signalbox._refuse_stream_in_use(p_stream_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse('name', format('is %s, which %s', quote_literal(s.name), o.problem))
  from signalbox.stream s
  cross join lateral (
    select 1 as place, 'is open: close it first' as problem where not s.closed
    union all
    select 2, format('feeds the queue %s: delete its group %s first', quote_literal(q.name), quote_literal(g.name))
    from signalbox.consumer_group g
    join signalbox.queue q on q.queue_id = g.queue_id
    where g.stream_id = s.stream_id
    union all
    select 3, format('has the changes of %s: uncapture the table first', coalesce(
      (select quote_literal(t.oid::regclass::text) from pg_class t where t.oid = c.table_id), 'a dropped table'
    ))
    from signalbox.capture c
    where c.stream_id = s.stream_id
    union all
    select 4, format('is read by the member %s of group %s: stop it first', quote_literal(m.member), quote_literal(g.name))
    from signalbox.consumer_group g
    join signalbox.group_member m on m.group_id = g.group_id and m.lease_until > clock_timestamp()
    where g.stream_id = s.stream_id
    order by 1, 2
    limit 1
  ) o
  where s.stream_id = p_stream_id;
end $$;
