-- Take the turns of FIFO groups that are free, in sorted order, and return the others: their senders have not
-- committed.
create or replace function signalbox._take_turns(p_queue_id integer, p_group_ids text[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select t.turn
    from (
      select distinct signalbox._fifo_turn(p_queue_id, g) as turn from unnest(p_group_ids) g order by 1 offset 0
    ) t
    where not pg_try_advisory_xact_lock(t.turn)
  );
end $$;
