-- subscriptions_to_feed(): the subscriptions for one round of feed_queue, without paused ones. For each queue the
-- subscription that moved longest ago comes first.
-- sharers: how many subscriptions of the queue have unread messages and have not had their turn yet, this one included.
-- Indexes: group_offset_pkey, once for each partition of a subscription.
create or replace function signalbox.subscriptions_to_feed() returns table (group_id integer, sharers integer)
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select u.group_id,
    greatest(count(*) filter (where u.behind) over (
      partition by u.queue_id order by u.moved_at desc, u.group_id desc rows unbounded preceding
    ), 1)::integer
  from (
    select g.group_id, g.queue_id, max(o.committed_at) as moved_at,
      bool_or(coalesce(pg_sequence_last_value(p.last), 0) > o.position) as behind
    from signalbox.consumer_group g
    join signalbox.stream s on s.stream_id = g.stream_id
    cross join lateral unnest(s.positions) with ordinality p(last, number)
    cross join lateral (
      select o.position, o.committed_at
      from signalbox.group_offset o
      where o.group_id = g.group_id and o.partition = p.number - 1
      order by o.offset_id desc
      limit 1
    ) o
    where g.queue_id is not null and not g.paused
    group by g.group_id, g.queue_id
  ) u
  order by u.queue_id, u.moved_at, u.group_id;
end $$;
