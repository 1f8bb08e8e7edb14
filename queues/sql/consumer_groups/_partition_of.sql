-- The partition of a key: the same in every version of PostgreSQL.
create or replace function signalbox._partition_of(p_key text, p_partitions integer) returns integer
language sql immutable
begin atomic
  select ('x' || substr(md5(p_key), 1, 7))::bit(28)::integer % p_partitions;
end;
