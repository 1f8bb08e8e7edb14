-- group_numbers(group_ids): how far each consumer group has read, one row a group: the sums of group_partitions.
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
