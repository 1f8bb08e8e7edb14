-- Permanently delete messages of a trash batch, whose row the caller has locked, and note in history that they were
-- purged. Where none are left the batch's numbers say so.
create or replace function signalbox._empty_trash_batch(p_trash_batch_id bigint, p_limit integer) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone bigint;
  v_with_state bigint[];
begin
  with gone as (
    delete from signalbox.trash t
    where t.ctid = any(array(
      select c.ctid from signalbox.trash c where c.trash_batch_id = p_trash_batch_id order by c.position, c.message_id
        limit p_limit
    ))
    returning t.message_id, t.queue_id, t.receive_count, t.trashed_at
  ), settled as (
    insert into signalbox.settled (queue_id, outcome, settled_at, message_ids, receive_counts, work_ms)
    select g.queue_id, {outcome.purged}, max(g.trashed_at), array_agg(g.message_id order by g.message_id),
      array_agg(g.receive_count order by g.message_id), '{}'
    from gone g
    group by g.queue_id
  )
  select count(*), array_agg(g.message_id) filter (where g.receive_count > 0) into v_gone, v_with_state from gone g;
  if v_with_state is not null then
    perform signalbox._forget_states(v_with_state);
  end if;
  update signalbox.trash_batch r
  set emptied = case when v_gone < p_limit then r.trashed - r.restored else r.emptied + v_gone end
  where r.trash_batch_id = p_trash_batch_id;
  return v_gone;
end $$;
