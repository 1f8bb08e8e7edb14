-- The id for a new queue: the id that is reserved for the dead letters of the queue after which it is named, if that
-- belongs to the same tenant and has no dead-letter queue yet; otherwise a new id. Waits for a transaction that makes
-- that dead-letter queue.
create or replace function signalbox._id_for_new_queue(p_name text, p_tenant_id integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer;
begin
  select q.dead_letter_queue_id into v_queue_id
  from signalbox.queue q
  where p_name like '%-dlq' and q.name = left(p_name, -4) and q.tenant_id = p_tenant_id
    and q.dead_letter_queue is null and not q.is_dead_letter_queue;
  if v_queue_id is not null then
    perform pg_advisory_xact_lock(hashtext('signalbox.make_dead_letter_queue'), v_queue_id);
    if not exists (select from signalbox.queue q where q.queue_id = v_queue_id) then
      return v_queue_id;
    end if;
  end if;
  return nextval('signalbox.queue_queue_id_seq');
end $$;
