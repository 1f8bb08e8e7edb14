-- join_group(stream, group_name, member, lease_seconds): be a member of a group for so long, again and again; returns the
-- partitions that are this member's now, each with its epoch. Reading joins too, and renews. Partitions are shared evenly by
-- members that are alive; nobody is robbed: a member hands back what is too much at its own next read, and only what the
-- dead had is taken. Waits for nobody: a row that somebody has locked is left for the next call.
create or replace function signalbox.join_group(
  stream text, group_name text, member text, lease_seconds double precision default 30
) returns table (partition integer, epoch bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(join_group.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, join_group.group_name);
begin
  perform signalbox._check_member(v_group.name, v_group.queue_id is not null, join_group.member);
  if join_group.lease_seconds is null or join_group.lease_seconds not between 0 and 43200 then
    perform signalbox._refuse('lease_seconds', 'must be from 0 to 43200');
  end if;
  perform signalbox._renew_member(v_group.group_id, join_group.member, join_group.lease_seconds);
  perform signalbox._balance(v_group.group_id, join_group.member, v_stream.partitions);
  return query
  select p.partition::integer, p.epoch
  from signalbox.group_partition p
  where p.group_id = v_group.group_id and p.member = join_group.member
  order by p.partition;
end $$;

create or replace function signalbox._check_member(p_group text, p_feeds boolean, p_member text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_member) not between 1 and 200 or p_member is null then
    perform signalbox._refuse('member', 'must have from 1 to 200 characters');
  end if;
  if p_feeds then
    perform signalbox._refuse('group_name', format('%s feeds a queue: receive from that', quote_literal(p_group)));
  end if;
end $$;

-- Writes no more than twice in a lease, however often the member reads.
create or replace function signalbox._renew_member(p_group_id integer, p_member text, p_lease_seconds double precision) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from signalbox.group_member m
  where m.group_id = p_group_id and m.member = p_member
    and m.lease_seconds = coalesce(p_lease_seconds, m.lease_seconds)
    and m.lease_until > clock_timestamp() + m.lease_seconds / 2 * interval '1 second';
  if not found then
    insert into signalbox.group_member as m (group_id, member, lease_seconds, lease_until)
    values (p_group_id, p_member, coalesce(p_lease_seconds, 30), clock_timestamp() + coalesce(p_lease_seconds, 30) * interval '1 second')
    on conflict (group_id, member) do update
    set lease_seconds = coalesce(p_lease_seconds, m.lease_seconds),
      lease_until = clock_timestamp() + coalesce(p_lease_seconds, m.lease_seconds) * interval '1 second';
  end if;
end $$;

-- A member's share follows from its place among the living, so that all agree without asking each other: it hands back what
-- is above it, and takes what is nobody's or a dead member's up to it. Each change of hands is a new epoch.
create or replace function signalbox._balance(p_group_id integer, p_member text, p_partitions integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_share integer;
  v_own integer;
begin
  with alive as (
    select m.member, row_number() over (order by m.member) - 1 as place, count(*) over () as members
    from signalbox.group_member m
    where m.group_id = p_group_id and (m.lease_until > clock_timestamp() or m.member = p_member)
  )
  select p_partitions / a.members + (a.place < p_partitions % a.members)::integer,
    (select count(*) from signalbox.group_partition p where p.group_id = p_group_id and p.member = p_member)
  into v_share, v_own
  from alive a
  where a.member = p_member;
  if v_own > v_share then
    update signalbox.group_partition p
    set member = null, epoch = p.epoch + 1
    where p.group_id = p_group_id and p.member = p_member and p.partition = any(array(
      select o.partition
      from signalbox.group_partition o
      where o.group_id = p_group_id and o.member = p_member
      order by o.partition desc
      limit v_own - v_share
      for update skip locked
    ));
  elsif v_own < v_share then
    update signalbox.group_partition p
    set member = p_member, epoch = p.epoch + 1
    where p.group_id = p_group_id and p.partition = any(array(
      select f.partition
      from signalbox.group_partition f
      where f.group_id = p_group_id
        and f.member is distinct from p_member
        and not exists (
          select from signalbox.group_member m
          where m.group_id = f.group_id and m.member = f.member and m.lease_until > clock_timestamp()
        )
      order by f.partition
      limit v_share - v_own
      for update skip locked
    ));
  end if;
end $$;

-- leave_group(stream, group_name, member): give back the partitions of a member that ends; how many they were.
create or replace function signalbox.leave_group(stream text, group_name text, member text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(leave_group.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, leave_group.group_name);
  v_left integer;
begin
  update signalbox.group_partition p
  set member = null, epoch = p.epoch + 1
  where p.group_id = v_group.group_id and p.member = leave_group.member;
  get diagnostics v_left = row_count;
  delete from signalbox.group_member m where m.group_id = v_group.group_id and m.member = leave_group.member;
  return v_left;
end $$;
