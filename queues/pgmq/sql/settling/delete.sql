-- delete(queue_name, msg_ids): end messages whose work is done. Returns the ids of those that were there. As with pgmq
-- the id alone counts, and not who holds the message.
create or replace function pgmq.delete(queue_name text, msg_ids bigint[]) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ended bigint[] := array(select pgmq._end(pgmq._queue_id(delete.queue_name), delete.msg_ids));
begin
  return query select e from unnest(v_ended) e;
  if not delete.msg_ids <@ v_ended then
    return query select m.msg_id from pgmq._end_old(delete.queue_name, delete.msg_ids) m;
  end if;
end $$;

create or replace function pgmq.delete(queue_name text, msg_id bigint) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from pgmq.delete(delete.queue_name, array[delete.msg_id]))
$$;
