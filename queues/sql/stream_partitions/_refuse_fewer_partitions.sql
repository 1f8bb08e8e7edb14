-- Refuse a number of partitions below that of the stream.
create or replace function signalbox._refuse_fewer_partitions(p_present integer, p_wanted integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse(
    'partitions', format('is %s: the stream has %s, and the number can only grow', p_wanted, p_present)
  );
end $$;
