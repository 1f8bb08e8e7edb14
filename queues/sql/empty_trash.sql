-- empty_trash(max_messages): what has been in the trash for its time goes for good, and history says that it was purged. Oldest
-- removal first, bounded; a removal that somebody works on is passed by. Returns how many. Indexes: removal_due, trash_pkey.
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
  v_removal_id bigint;
  v_passed bigint[] := '{}';
  v_emptied bigint := 0;
  v_gone bigint;
begin
  while v_emptied < empty_trash.max_messages loop
    select r.removal_id
    into v_removal_id
    from signalbox.removal r
    where r.trashed > r.restored + r.emptied and r.expires_at < clock_timestamp() and r.removal_id <> all(v_passed)
    order by r.expires_at
    limit 1
    for update skip locked;
    exit when not found;
    begin
      v_gone := signalbox._empty_removal(v_removal_id, empty_trash.max_messages - v_emptied::integer);
      v_emptied := v_emptied + v_gone;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        v_passed := v_passed || v_removal_id;
        perform signalbox._pass_over('empty_trash', null, sqlstate, format('removal %s: %s', v_removal_id, sqlerrm));
    end;
  end loop;
  return v_emptied;
end $$;

-- So many messages of a removal, whose row the caller has locked. None are left: the removal's numbers say so.
create or replace function signalbox._empty_removal(p_removal_id bigint, p_limit integer) returns bigint
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
      select c.ctid from signalbox.trash c where c.removal_id = p_removal_id order by c.turn, c.message_id limit p_limit
    ))
    returning t.message_id, t.queue_id, t.receive_count, t.trashed_at
  ), settled as (
    insert into signalbox.settled (queue_id, outcome, settled_at, message_ids, receive_counts, work_ms)
    select g.queue_id, 'p', max(g.trashed_at), array_agg(g.message_id order by g.message_id),
      array_agg(g.receive_count order by g.message_id), '{}'
    from gone g
    group by g.queue_id
  )
  select count(*), array_agg(g.message_id) filter (where g.receive_count > 0) into v_gone, v_with_state from gone g;
  if v_with_state is not null then
    perform signalbox._forget_states(v_with_state);
  end if;
  update signalbox.removal r
  set emptied = case when v_gone < p_limit then r.trashed - r.restored else r.emptied + v_gone end
  where r.removal_id = p_removal_id;
  return v_gone;
end $$;
