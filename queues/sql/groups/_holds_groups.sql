-- Return whether dead letters of this queue hold their FIFO groups, at least until this transaction ends. A transaction
-- that switches that off waits for those that have got this answer, to free their groups too, and none waits for it.
create or replace function signalbox._holds_groups(p_queue_id integer) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
    select from signalbox.queue q where q.queue_id = p_queue_id and q.mode = 'fifo' and q.fifo_block_on_dead_letter
  )
    or not pg_try_advisory_xact_lock_shared(hashtext('signalbox.holds_groups'), p_queue_id)
  then
    return false;
  end if;
  -- unchanged now that the lock is held
  return exists (select from signalbox.queue q where q.queue_id = p_queue_id and q.fifo_block_on_dead_letter);
end $$;
