-- join_group(stream, group_name, member, lease_seconds): be a member of a consumer group for lease_seconds; call it
-- again in time. Returns the member's partitions, each with its epoch. Reading also joins and renews. Partitions are
-- shared evenly between living members. No partition is taken from a living member: it hands back its surplus at its
-- next read, and only partitions of expired members are taken. Never waits: a row that is locked is left for the next
-- call.
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
