-- left_behind(queue_name): how many messages pgmq's own table of a queue still has.
create or replace function pgmq.left_behind(queue_name text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass := pgmq._old_table(left_behind.queue_name);
  v_count bigint := 0;
begin
  if v_table is not null then
    execute format('select count(*) from %s', v_table) into v_count;
  end if;
  return v_count;
end $$;
