-- Balance the partitions of a consumer group. A member's share follows from its rank among living members, so that all
-- agree without asking each other: it hands back partitions above its share, and takes free partitions, or those of
-- expired members, up to it. Each change of owner is a new epoch.
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
