-- The id of the queue that keeps a queue's dead letters (queue.dead_letter_queue_id; a dead-letter queue that names no other keeps
-- its own). The id is reserved when the queue is made, and the dead-letter queue itself is made on first need. A burial
-- uses the id whether or not the row is there yet, and waits for nobody who makes it.
create or replace function signalbox._dead_letter_queue(p_queue_id integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dead_letter_queue_id integer;
  v_held_id integer;
begin
  loop
    select case when q.is_dead_letter_queue and q.dead_letter_queue is null then q.queue_id else q.dead_letter_queue_id end
    into v_dead_letter_queue_id
    from signalbox.queue q
    where q.queue_id = p_queue_id;
    exit when v_dead_letter_queue_id is not distinct from v_held_id; -- still, under the lock
    perform signalbox._keep_queue(v_dead_letter_queue_id);
    v_held_id := v_dead_letter_queue_id;
  end loop;
  perform from signalbox.queue q where q.queue_id = v_dead_letter_queue_id and q.is_dead_letter_queue;
  if not found then
    perform signalbox._make_default_dead_letter_queue(p_queue_id, v_dead_letter_queue_id);
  end if;
  return v_dead_letter_queue_id;
end $$;

-- Make the queue whose id is reserved for the dead letters of a queue, or mark the ordinary queue that has that id. Returns
-- false when another transaction does so, or holds what is needed: letters wait under the id until somebody makes it (a later
-- burial, or make_dead_letter_queues). Never waits: every lock is tried. Names of other queues, in use or former, are left alone.
-- With the owner's rights: the role of an application may not lock the table of queues.
create or replace function signalbox._make_default_dead_letter_queue(p_source_queue_id integer, p_queue_id integer) returns boolean
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source signalbox.queue;
  v_name text;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.make_dead_letter_queue'), p_queue_id) then
    return false;
  end if;
  lock table signalbox.queue in row exclusive mode nowait; -- maintenance that begins keeps others from it
  select * into v_source from signalbox.queue q where q.queue_id = p_source_queue_id;
  if v_source.dead_letter_queue_id is distinct from p_queue_id and not exists (
    select from signalbox.former_dead_letter_queue f where f.queue_id = p_queue_id and f.source_queue_id = p_source_queue_id
  ) then
    return false;
  end if;
  if exists (select from signalbox.queue q where q.queue_id = p_queue_id) then
    perform from signalbox.queue q where q.queue_id = p_queue_id for no key update skip locked;
    if found then
      update signalbox.queue q
      set is_dead_letter_queue = true, alert_dead_letters = greatest(q.alert_dead_letters, v_source.alert_dead_letters)
      where q.queue_id = p_queue_id and not q.is_dead_letter_queue;
    end if;
    return found;
  end if;
  perform from signalbox.tenant t where t.tenant_id = v_source.tenant_id for share skip locked; -- what guard_queue takes
  if not found then
    return false;
  end if;
  v_name := coalesce(v_source.dead_letter_queue, v_source.name || '-dlq');
  if not signalbox._try_new_name(v_name) then
    v_name := signalbox._reserved_name(v_source.name, p_queue_id);
    while not signalbox._try_new_name(v_name) loop -- a name given before such names were reserved
      v_name := signalbox._reserved_name(v_source.name, nextval('signalbox.queue_queue_id_seq')::integer);
    end loop;
  end if;
  insert into signalbox.queue (queue_id, name, tenant_id, is_dead_letter_queue, retention_seconds, alert_dead_letters)
  values (p_queue_id, v_name, v_source.tenant_id, true, 1209600, v_source.alert_dead_letters);
  perform signalbox._make_heads(p_queue_id);
  return true;
exception
  -- Maintenance begins; the queue was made by one that this snapshot does not see; the lock table is full.
  when lock_not_available or unique_violation or out_of_memory then
    return false;
end $$;
revoke execute on function signalbox._make_default_dead_letter_queue(integer, integer) from public;

-- make_dead_letter_queues(): make the dead-letter queues that have letters and no row yet, because the transaction that was
-- making the row was rolled back, or held what it needs. Waits for nobody. Returns how many. Indexes: queue_pkey, dead_letter_queue.
create or replace function signalbox.make_dead_letter_queues() returns bigint
language sql volatile
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
  select count(*) filter (where signalbox._make_default_dead_letter_queue(s.source_queue_id, s.queue_id))
  from (
    select q.queue_id as source_queue_id, q.dead_letter_queue_id as queue_id from signalbox.queue q
    union
    select f.source_queue_id, f.queue_id from signalbox.former_dead_letter_queue f
  ) s
  where not exists (select from signalbox.queue d where d.queue_id = s.queue_id and d.is_dead_letter_queue)
    and exists (select from signalbox.dead_letter l where l.queue_id = s.queue_id)
    and exists (select from signalbox.queue q where q.queue_id = s.source_queue_id)
$$;

-- source_queues(queue_id): the queues whose dead letters a queue keeps, or kept before their settings were changed; by id,
-- without the queue itself. Indexes: queue_dead_letter_queue, former_dead_letter_queue_pkey.
create or replace function signalbox.source_queues(p_queue_id integer) returns setof integer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select q.queue_id
  from signalbox.queue q
  where q.dead_letter_queue_id = p_queue_id and q.queue_id <> p_queue_id
    and not (q.is_dead_letter_queue and q.dead_letter_queue is null)
  union
  select f.source_queue_id
  from signalbox.former_dead_letter_queue f
  where f.queue_id = p_queue_id and f.source_queue_id <> p_queue_id
$$;

-- The name of the queue that keeps a queue's dead letters; while it is not made yet, the name that it would get now.
create or replace function signalbox.dead_letter_queue_name(p_queue_id integer) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    d.name,
    case
      when q.is_dead_letter_queue and q.dead_letter_queue is null then q.name
      when signalbox._is_name_taken(coalesce(q.dead_letter_queue, q.name || '-dlq'))
        then signalbox._reserved_name(q.name, q.dead_letter_queue_id)
      else coalesce(q.dead_letter_queue, q.name || '-dlq')
    end
  )
  from signalbox.queue q
  left join signalbox.queue d on d.queue_id = q.dead_letter_queue_id and not (q.is_dead_letter_queue and q.dead_letter_queue is null)
  where q.queue_id = p_queue_id
$$;

-- Until this transaction ends, the queue is not deleted and its mode does not change (_claim_queue). For those who put messages
-- into a queue without looking at `closed`. Waits only for a transaction that is deleting the queue, or changing its mode. One that
-- buries in many thousands of queues holds no more locks than there are places: queues share them. Where another queue of the place
-- is deleted, a lock of the row does instead, which deletion waits for.
create or replace function signalbox._keep_queue(p_queue_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_try_advisory_xact_lock_shared(hashtext('signalbox.keep_queue'), signalbox._keep_place(p_queue_id)) then
    perform from signalbox.queue q where q.queue_id = p_queue_id for key share skip locked;
    if not found and exists (select from signalbox.queue q where q.queue_id = p_queue_id) then
      perform pg_advisory_xact_lock_shared(hashtext('signalbox.keep_queue'), signalbox._keep_place(p_queue_id));
    end if;
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform from signalbox.queue q where q.queue_id = p_queue_id for key share; -- an error when it was deleted since the snapshot
  end if;
end $$;

-- The other side of _keep_queue: false while somebody holds the queue, or another of its place. Never waits.
create or replace function signalbox._claim_queue(p_queue_id integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pg_try_advisory_xact_lock(hashtext('signalbox.keep_queue'), signalbox._keep_place(p_queue_id))
$$;

create or replace function signalbox._keep_place(p_queue_id integer) returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_queue_id % 1024
$$;

-- Which queue a queue's dead letters go to, as its settings are: the queue that they name; else '<name>-dlq' of the same tenant, if that
-- can keep dead letters; else what Signalbox once made for it; else an id reserved for one. Null: it keeps its own. For who
-- makes or configures a queue: it waits for who configures the other.
create or replace function signalbox._dead_letter_queue_of(p_queue signalbox.queue) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer;
begin
  if p_queue.is_dead_letter_queue and p_queue.dead_letter_queue is null then
    return null;
  end if;
  select q.queue_id into v_queue_id
  from signalbox.queue q
  where q.name = coalesce(p_queue.dead_letter_queue, p_queue.name || '-dlq') and q.tenant_id = p_queue.tenant_id
    and q.queue_id <> p_queue.queue_id and signalbox._can_keep_dead_letters(q)
  for no key update; -- it does not begin to order its groups meanwhile
  if found then
    return v_queue_id;
  end if;
  select f.queue_id into v_queue_id
  from signalbox.former_dead_letter_queue f
  left join signalbox.queue q on q.queue_id = f.queue_id
  where f.source_queue_id = p_queue.queue_id and p_queue.dead_letter_queue is null
    and (q.queue_id is null or q.name ~ signalbox._reserved_names() and q.tenant_id = p_queue.tenant_id)
  order by f.queue_id
  limit 1;
  return coalesce(v_queue_id, nextval('signalbox.queue_queue_id_seq')::integer);
end $$;

-- Dead letters have no groups: a queue that orders or limits groups would hand them out without regard to either.
create or replace function signalbox._can_keep_dead_letters(p_queue signalbox.queue) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_queue.is_dead_letter_queue or p_queue.mode <> 'fifo' and p_queue.lane_max_in_flight = 0
$$;

-- Make a dead-letter queue, or make one of an ordinary queue of the same tenant; null when another tenant has the name. A name
-- that a dead-letter queue had is that queue. Refuses a queue that orders or limits groups. For who configures: it waits.
create or replace function signalbox._make_dead_letter_queue(p_name text, p_tenant_id integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue signalbox.queue;
  v_queue_id integer;
begin
  perform signalbox._lock_queue_name(p_name);
  select q.* into v_queue
  from signalbox.queue q
  where q.queue_id = coalesce(
    (select n.queue_id from signalbox.queue n where n.name = p_name),
    (select a.queue_id from signalbox.queue_alias a where a.name = p_name)
  )
  for no key update; -- it is not deleted meanwhile, and does not begin to order its groups
  if found then
    if v_queue.tenant_id <> p_tenant_id then
      return null;
    elsif v_queue.name <> p_name and not v_queue.is_dead_letter_queue then
      perform signalbox._refuse('dead_letter_queue', format('%s is the old name of another queue', quote_literal(p_name)));
    elsif not signalbox._can_keep_dead_letters(v_queue) then
      perform signalbox._refuse('dead_letter_queue', format(
        '%s orders or limits message groups: a dead-letter queue has mode standard and lane_max_in_flight 0', quote_literal(p_name)
      ));
    elsif not v_queue.is_dead_letter_queue then
      update signalbox.queue q set is_dead_letter_queue = true where q.queue_id = v_queue.queue_id;
    end if;
    return v_queue.queue_id;
  end if;
  perform signalbox._check_reserved_name('dead_letter_queue', p_name, p_tenant_id);
  v_queue_id := signalbox._id_for_new_queue(p_name, p_tenant_id);
  insert into signalbox.queue (queue_id, name, tenant_id, is_dead_letter_queue, retention_seconds)
  values (v_queue_id, p_name, p_tenant_id, true, 1209600);
  perform signalbox._make_heads(v_queue_id);
  return v_queue_id;
end $$;
