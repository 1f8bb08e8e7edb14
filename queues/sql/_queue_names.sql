-- Names of queues are one list for all tenants. Names of the form '<name>-dlq-<number>' are given by Signalbox alone, so that
-- there is always a name for a dead-letter queue, whatever names others have taken.
create or replace function signalbox._reserved_names() returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select '-dlq-[0-9]+$'
$$;

create or replace function signalbox._reserved_name(p_name text, p_number integer) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select left(p_name, 84) || '-dlq-' || p_number
$$;

-- Refuse a new name that is kept for dead letters: of the reserved form, or '<name>-dlq' where another tenant has the queue; and the name
-- of the queue from which Signalbox's workers take their tasks (queues/reach.py), unless it is of the tenant `system`.
create or replace function signalbox._check_reserved_name(p_field text, p_name text, p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name = 'signalbox' and not exists (
    select from signalbox.tenant t where t.tenant_id = p_tenant_id and t.name = 'system'
  ) then
    perform signalbox._refuse(p_field, format(
      '%s is reserved for the tasks of Signalbox''s own workers: choose another name', quote_literal(p_name)
    ));
  end if;
  if p_name ~ signalbox._reserved_names() then
    perform signalbox._refuse(p_field, format(
      '%s is reserved for dead letters: choose a name that does not end in -dlq- and a number', quote_literal(p_name)
    ));
  end if;
  if p_name like '%-dlq' and exists (
    select from signalbox.queue q where q.name = left(p_name, -4) and q.tenant_id is distinct from p_tenant_id
  ) then
    perform signalbox._refuse(p_field, format(
      '%s is reserved for dead letters: choose a name that does not end in -dlq', quote_literal(p_name)
    ));
  end if;
end $$;

-- Whoever makes or renames a queue holds its name until the transaction ends. Waits for another who does.
create or replace function signalbox._lock_queue_name(p_name text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pg_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(p_name))
$$;

create or replace function signalbox._is_name_taken(p_name text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from signalbox.queue q where q.name = p_name)
    or exists (select from signalbox.queue_alias a where a.name = p_name)
$$;

-- Hold a name that nobody has, or is about to have. False otherwise; never waits.
create or replace function signalbox._try_new_name(p_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_try_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(p_name)) and not signalbox._is_name_taken(p_name);
end $$;

-- The id for a new queue: the one reserved for the dead letters of the queue that the name is made of, if that is the same tenant's and
-- has no dead-letter queue yet; else a new id. Waits for a transaction that makes that dead-letter queue.
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
