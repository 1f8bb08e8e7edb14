-- rename_queue(name, new_name, grace_seconds): give a queue another name; returns its id, which stays, and with it messages,
-- leases, history, bindings and subscriptions. The old name goes on working for the grace, for those verbs that programs call (_renamed), and
-- is then refused with an error that says the new one; nobody can make a queue of it until free_queue_name. A queue may take
-- back a name that it had. Dead letters go where they went (queue.dead_letter_queue_id), and settings that name the queue follow.
-- Names that are kept for dead letters are refused as create_queue refuses them.
-- Waits for who configures the queue; no sender and no consumer waits or is refused, whatever they have begun.
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
  if rename_queue.new_name = v_queue.name then
    perform signalbox._refuse('new_name', 'is the name that the queue has');
  end if;
  perform signalbox._drop_alias(a) from signalbox.queue_alias a where a.name = rename_queue.new_name and a.queue_id = v_queue.queue_id;
  if exists (select from signalbox.queue_alias a where a.name = rename_queue.new_name) then
    perform signalbox._refuse('new_name', format('%s is the old name of another queue', quote_literal(rename_queue.new_name)));
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

create or replace function signalbox._check_new_name(p_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$' then
    perform signalbox._refuse(
      'new_name', format('%s: a queue name has 1 to 90 letters, digits, dots, dashes and underscores, and starts with a letter or digit',
        coalesce(quote_literal(left(p_name, 120)), 'null'))
    );
  end if;
end $$;

-- When the old name was last used, in seconds since 1970, is a sequence's value: seen by all at once, and no row is written for a
-- message. Whoever may send may say that he did.
create or replace function signalbox._keep_alias(p_name text, p_queue_id integer, p_grace_seconds double precision) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_register text := format('alias_used_%s_%s', p_queue_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint);
begin
  execute format('create sequence signalbox.%I minvalue 0 start 0', v_register);
  execute format('grant select, update on sequence signalbox.%I to public', v_register);
  insert into signalbox.queue_alias (name, queue_id, works_until, last_used)
  values (p_name, p_queue_id, clock_timestamp() + p_grace_seconds * interval '1 second', format('signalbox.%I', v_register)::regclass);
end $$;

create or replace function signalbox._drop_alias(p_alias signalbox.queue_alias) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.queue_alias a where a.name = p_alias.name;
  execute format('drop sequence %s', p_alias.last_used);
end $$;

-- free_queue_name(name): an old name means nothing any longer, and another queue may have it. False when it was none.
create or replace function signalbox.free_queue_name(name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue signalbox.queue;
begin
  select q.* into v_queue
  from signalbox.queue_alias a
  left join signalbox.queue q on q.queue_id = a.queue_id
  where a.name = free_queue_name.name;
  perform signalbox._drop_alias(a) from signalbox.queue_alias a where a.name = free_queue_name.name;
  if not found then
    return false;
  end if;
  perform signalbox._audit_verb('queue.free_name', v_queue.queue_id, v_queue.name, jsonb_build_object('name', free_queue_name.name));
  return true;
end $$;
