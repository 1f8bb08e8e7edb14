-- begin_long_poll(queue): before a consumer waits for news on this connection, a place for it among those its tenant may
-- have (tenant.max_long_polls); returns the place, or null where the tenant has no such limit. Give it back with
-- end_long_poll; a connection that ends gives it back by itself, since the place is a session's advisory lock. Several waits on one
-- connection share a place. Needs a session of its own: behind a pooler in transaction mode places would wander.
create or replace function signalbox.begin_long_poll(queue text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant signalbox.tenant;
begin
  select t.*
  into v_tenant
  from signalbox.queue q
  join signalbox.tenant t on t.tenant_id = q.tenant_id
  where q.name = begin_long_poll.queue;
  if not found then
    return signalbox.begin_long_poll(signalbox._renamed(begin_long_poll.queue));
  end if;
  return signalbox._begin_long_poll(v_tenant, '{}');
end $$;

-- end_long_poll(queue, place): the wait is over. False when this connection did not have the place.
create or replace function signalbox.end_long_poll(queue text, place integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_key integer;
begin
  select signalbox._long_poll_key(q.tenant_id) into v_key from signalbox.queue q where q.name = end_long_poll.queue;
  if not found then
    select signalbox._long_poll_key(q.tenant_id) into v_key
    from signalbox.queue_alias a
    join signalbox.queue q on q.queue_id = a.queue_id
    where a.name = end_long_poll.queue;
  end if;
  if not exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.objsubid = 2
      and l.classid = (v_key::bigint & 4294967295)::oid and l.objid = end_long_poll.place::oid
  ) then
    return false; -- without the warning that PostgreSQL gives
  end if;
  return pg_advisory_unlock(v_key, end_long_poll.place);
end $$;

-- long_polls(tenant_id): how many connections of a tenant wait for news, and have a place. Reads pg_locks once.
create or replace function signalbox.long_polls(tenant_id integer) returns integer
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select count(distinct l.objid)::integer
  from pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 2
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid = (signalbox._long_poll_key(long_polls.tenant_id)::bigint & 4294967295)::oid
$$;

create or replace function signalbox._long_poll_key(p_tenant_id integer) returns integer
language sql immutable
begin atomic
  select hashtext('signalbox.long_poll.' || p_tenant_id);
end;

-- begin_long_poll_of(tenant_id, held): a place beside those that this session has already, in ascending order: for a process that waits
-- on behalf of many on one connection. end_long_poll_of gives it back, whatever became of the queue.
create or replace function signalbox.begin_long_poll_of(tenant_id integer, held integer[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
begin
  select t.* into v_tenant from signalbox.tenant t where t.tenant_id = begin_long_poll_of.tenant_id;
  return signalbox._begin_long_poll(v_tenant, signalbox._as_list('held', begin_long_poll_of.held));
end $$;

-- end_long_poll_of(tenant_id, place): only for a place that this session has.
create or replace function signalbox.end_long_poll_of(tenant_id integer, place integer) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pg_advisory_unlock(signalbox._long_poll_key(end_long_poll_of.tenant_id), end_long_poll_of.place)
$$;

-- The first free place of a tenant but for those that this session holds (ascending): to a session its own locks are free.
create or replace function signalbox._begin_long_poll(p_tenant signalbox.tenant, p_held integer[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key integer := signalbox._long_poll_key(p_tenant.tenant_id);
  v_next integer := 1; -- in p_held
begin
  if coalesce(p_tenant.max_long_polls, 0) = 0 then
    return null;
  end if;
  for v_place in 1..p_tenant.max_long_polls loop
    if v_place = p_held[v_next] then
      v_next := v_next + 1;
    elsif pg_try_advisory_lock(v_key, v_place) then
      return v_place;
    end if;
  end loop;
  perform signalbox._refuse_tenant(
    p_tenant, 'long_polls', 'max_long_polls', p_tenant.max_long_polls, p_tenant.max_long_polls + 1, 1
  );
end $$;
