-- group_numbers(group_ids): how far each group is, null for all: from positions and never by reading messages. Lag is what lies
-- between the last position drawn and what the group has committed, or what is still there: exact, but for positions that were
-- rolled back in between and what is being appended at this moment; once a group has read to the end it is 0. lag_seconds is the
-- age of the oldest message not read, one probe for each partition that has a lag. A row for each partition of each group.
create or replace function signalbox.group_partitions(group_ids integer[] default null)
returns table (
  group_id integer, partition integer, member text, alive boolean, epoch bigint, committed bigint, committed_at timestamptz,
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

-- The same, one row for each group.
create or replace function signalbox.group_numbers(group_ids integer[] default null)
returns table (
  group_id integer, members integer, committed bigint, lag_messages bigint, lag_seconds double precision, lost bigint,
  committed_at timestamptz
)
language sql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
  select p.group_id,
    (
      select count(*) from signalbox.group_member m
      where m.group_id = p.group_id and m.lease_until > clock_timestamp()
    )::integer,
    sum(p.committed)::bigint, sum(p.lag)::bigint,
    coalesce(date_part('epoch', clock_timestamp() - min(p.oldest_at)), 0), sum(p.lost)::bigint, max(p.committed_at)
  from signalbox.group_partitions(group_numbers.group_ids) p
  group by p.group_id
$$;
