-- return_and_promote(queue_ids, max_messages): return expired leases and promote due messages, as receive does first,
-- for queues without a consumer at this moment. Each step for each queue is a subtransaction, so that an obstacle in
-- one queue stops no other. Returns how many messages.
create or replace function signalbox.return_and_promote(queue_ids integer[], max_messages integer default 1000)
returns bigint
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue record;
  v_moved bigint := 0;
begin
  for v_queue in
    select q.queue_id,
      coalesce(max(f.at) filter (where h.kind = {floor.lease}), '-infinity') as lease_floor,
      coalesce(max(f.at) filter (where h.kind = {floor.scheduled}), '-infinity') as due_floor
    from signalbox.queue q
    join signalbox.claim_floor h on h.queue_id = q.queue_id, lateral (select signalbox.floor_time(h.floor) as at) f
    where return_and_promote.queue_ids is null or q.queue_id = any(return_and_promote.queue_ids)
    group by q.queue_id
  loop
    begin
      v_moved := v_moved + signalbox._return_expired(
        v_queue.queue_id, v_queue.lease_floor, return_and_promote.max_messages
      );
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('return_and_promote', v_queue.queue_id, sqlstate, sqlerrm);
    end;
    begin
      v_moved := v_moved + signalbox._promote_due(v_queue.queue_id, v_queue.due_floor, return_and_promote.max_messages);
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('return_and_promote', v_queue.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_moved;
end $$;
