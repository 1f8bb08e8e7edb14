-- drop_history(): drop one partition that is no longer needed: a day of settled, failed or deferred deliveries, a day
-- of the inbox, a quarter of a day of deduplication, or a part of queue history that is rolled up. One a call, so that
-- the lock on its parent is short; it never waits for a reader, since acks would wait behind it. Where there is an
-- archive, partitions that it lacks stay. Returns what was dropped; call it until that is nothing.
create or replace function signalbox.drop_history() returns text[]
language plpgsql
set lock_timeout = '20ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
begin
  for v_name in select u.name from signalbox._unneeded_history() u loop
    begin
      execute format('drop table signalbox.%I', v_name);
      return array[v_name];
    exception
      when lock_not_available then
        null;
    end;
  end loop;
  return '{}';
end $$;
