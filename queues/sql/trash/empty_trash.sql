-- empty_trash(max_messages): permanently delete messages whose time in the trash is over; history then says that they
-- were purged. The oldest trash batch first; a trash batch that another transaction holds is skipped. Returns how many.
-- Indexes: trash_batch_due, trash_pkey.
create or replace function signalbox.empty_trash(max_messages integer default 10000) returns bigint
language plpgsql
set lock_timeout = '1s'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trash_batch_id bigint;
  v_passed bigint[] := '{}';
  v_emptied bigint := 0;
  v_gone bigint;
begin
  while v_emptied < empty_trash.max_messages loop
    select r.trash_batch_id
    into v_trash_batch_id
    from signalbox.trash_batch r
    where r.trashed > r.restored + r.emptied and r.expires_at < clock_timestamp() and r.trash_batch_id <> all(v_passed)
    order by r.expires_at
    limit 1
    for update skip locked;
    exit when not found;
    begin
      v_gone := signalbox._empty_trash_batch(v_trash_batch_id, empty_trash.max_messages - v_emptied::integer);
      v_emptied := v_emptied + v_gone;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        v_passed := v_passed || v_trash_batch_id;
        perform signalbox._pass_over(
          'empty_trash', null, sqlstate, format('trash batch %s: %s', v_trash_batch_id, sqlerrm)
        );
    end;
  end loop;
  return v_emptied;
end $$;
