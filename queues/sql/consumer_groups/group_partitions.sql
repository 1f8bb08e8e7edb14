-- group_partitions(group_ids): how far each consumer group has read of each partition (null: all groups), from
-- positions and never by reading messages. Lag is the number of positions between the last one drawn and the group's
-- offset, or the oldest one that is left. It is exact except for positions that were rolled back in between or are
-- being appended now; a group that has read to the end has 0. lag_seconds is the age of the oldest unread message: one
-- probe for each partition with a lag.
create or replace function signalbox.group_partitions(group_ids integer[] default null)
returns table (
  group_id integer, partition integer, member text, alive boolean, epoch bigint, committed bigint,
  committed_at timestamptz,
  first_position bigint, last_position bigint, lag bigint, lost bigint, oldest_at timestamptz
)
language sql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
  select p.group_id, p.partition::integer, p.member,
    exists (
      select from signalbox.group_member m
      where m.group_id = p.group_id and m.member = p.member and m.lease_until > clock_timestamp()
    ),
    p.epoch, o.position, o.committed_at, f.first_position, l.position,
    greatest(l.position - greatest(o.position, f.first_position - 1), 0),
    p.lost + greatest(f.first_position - 1 - o.position, 0),
    case when l.position > greatest(o.position, f.first_position - 1) then (
      select b.appended_at
      from signalbox._first_behind(s.stream_id, p.partition, greatest(o.position, f.first_position - 1), l.position) b
    ) end
  from signalbox.group_partition p
  join signalbox.consumer_group g on g.group_id = p.group_id
  join signalbox.stream s on s.stream_id = g.stream_id
  join signalbox.stream_partition f on f.stream_id = s.stream_id and f.partition = p.partition
  cross join lateral (
    select o.position, o.committed_at
    from signalbox.group_offset o
    where o.group_id = p.group_id and o.partition = p.partition
    order by o.offset_id desc
    limit 1
  ) o
  cross join lateral (
    select coalesce(pg_sequence_last_value(s.positions[p.partition + 1]), 0) as position
  ) l
  where group_partitions.group_ids is null or p.group_id = any(group_partitions.group_ids)
$$;
