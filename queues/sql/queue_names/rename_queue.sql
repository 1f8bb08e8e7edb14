-- rename_queue(name, new_name, grace_seconds): give a queue another name. Returns its id, which stays, as do messages,
-- leases, history, bindings and subscriptions. During the grace the old name still works for the verbs that programs
-- call (_renamed). After that it is refused with an error that names the new one, and no queue can be made with it
-- until free_queue_name. A queue may take back its old name. Dead letters still go to the same queue
-- (queue.dead_letter_queue_id), and settings that name the queue follow. Names that are reserved for dead letters are
-- refused, as in create_queue.
-- Waits for transactions that configure the queue; no sender and no consumer waits or is refused.
create or replace function signalbox.rename_queue(
  name text, new_name text, grace_seconds double precision default 604800
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue signalbox.queue;
begin
  perform signalbox._check_new_name(rename_queue.new_name);
  if rename_queue.grace_seconds is null or rename_queue.grace_seconds not between 0 and 31536000 then
    perform signalbox._refuse('grace_seconds', 'must be from 0 to 31536000');
  end if;
  select * into v_queue from signalbox.queue q where q.name = rename_queue.name for update;
  if not found then
    perform signalbox._refuse_unknown_queue(rename_queue.name);
  end if;
  if v_queue.admission_flags & {flag.is_placed} > 0 then
    perform signalbox._refuse('name', 'is of a queue on several cells, which keeps its name');
  end if;
  if rename_queue.new_name = v_queue.name then
    perform signalbox._refuse('new_name', 'is the name that the queue has');
  end if;
  perform signalbox._drop_alias(a) from signalbox.queue_alias a where a.name = rename_queue.new_name
    and a.queue_id = v_queue.queue_id;
  if exists (select from signalbox.queue_alias a where a.name = rename_queue.new_name) then
    perform signalbox._refuse(
      'new_name', format('%s is the old name of another queue', quote_literal(rename_queue.new_name))
    );
  end if;
  perform signalbox._check_reserved_name('new_name', rename_queue.new_name, v_queue.tenant_id);
  perform signalbox._lock_queue_name(rename_queue.new_name);
  if not v_queue.is_dead_letter_queue and v_queue.dead_letter_queue is null then
    select d.name into v_queue.dead_letter_queue
    from signalbox.queue d
    where d.queue_id = v_queue.dead_letter_queue_id and d.is_dead_letter_queue;
  end if;
  begin
    update signalbox.queue q
    set name = rename_queue.new_name, dead_letter_queue = v_queue.dead_letter_queue
    where q.queue_id = v_queue.queue_id;
  exception
    when unique_violation then
      perform signalbox._refuse('new_name', format('%s is the name of a queue', quote_literal(rename_queue.new_name)));
  end;
  if v_queue.is_dead_letter_queue then
    update signalbox.queue q
    set dead_letter_queue = rename_queue.new_name
    where q.dead_letter_queue_id = v_queue.queue_id and q.queue_id <> v_queue.queue_id;
  end if;
  perform signalbox._keep_alias(v_queue.name, v_queue.queue_id, rename_queue.grace_seconds);
  perform signalbox._audit_renaming(v_queue, rename_queue.new_name, rename_queue.grace_seconds);
  return v_queue.queue_id;
end $$;
