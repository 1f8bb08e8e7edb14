-- create_queue(name, settings, tenant): make a queue, or find it. Returns its id. Idempotent for equal settings: a
-- queue that exists with other settings is an error that names the first setting that differs. A tenant that does not
-- exist is made; null is the tenant 'default' for a new queue, and any tenant for an existing one. A queue's old name
-- is that queue while it works (rename_queue), and refused afterwards. '<name>-dlq' is refused to other tenants than
-- that of <name>, '<name>-dlq-<number>' to all, and `signalbox` to all but `system`. Locks the new rows, and the name:
-- it waits for another transaction that makes the same queue.
create or replace function signalbox.create_queue(name text, settings jsonb default '{}', tenant text default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_settings jsonb := signalbox._check_settings(create_queue.settings);
  v_queue_id integer;
  v_tenant_id integer;
  v_queue jsonb;
  v_other text;
begin
  if create_queue.name is null or create_queue.name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$' then
    perform signalbox._refuse(
      'name',
      format(
        '%s: a queue name has 1 to 90 letters, digits, dots, dashes and underscores, and starts with a letter'
        ' or digit', coalesce(quote_literal(left(create_queue.name, 120)), 'null')
      )
    );
  end if;
  if length(create_queue.tenant) not between 1 and 100 then
    perform signalbox._refuse('tenant', 'must have from 1 to 100 characters');
  end if;
  perform from signalbox.queue q where q.name = create_queue.name;
  if not found then
    perform signalbox._lock_queue_name(create_queue.name);
    perform from signalbox.queue q where q.name = create_queue.name; -- made since it was looked up
  end if;
  if not found then
    if exists (select from signalbox.queue_alias a where a.name = create_queue.name) then
      return signalbox.create_queue(signalbox._renamed(create_queue.name), create_queue.settings, create_queue.tenant);
    end if;
    select t.tenant_id into v_tenant_id from signalbox.tenant t where t.name = coalesce(create_queue.tenant, 'default');
    if v_tenant_id is null then
      insert into signalbox.tenant (name) values (coalesce(create_queue.tenant, 'default')) on conflict do nothing;
      select t.tenant_id into v_tenant_id from signalbox.tenant t
        where t.name = coalesce(create_queue.tenant, 'default');
    end if;
    perform signalbox._check_reserved_name('name', create_queue.name, v_tenant_id);
    insert into signalbox.queue (queue_id, name, tenant_id)
    values (signalbox._id_for_new_queue(create_queue.name, v_tenant_id), create_queue.name, v_tenant_id)
    on conflict do nothing
    returning queue_id into v_queue_id;
  end if;
  if v_queue_id is not null then
    perform signalbox._make_claim_floors(v_queue_id);
    perform signalbox._audit_verb(
      'queue.create', v_queue_id, create_queue.name, jsonb_build_object('settings', v_settings)
    );
    if v_settings <> '{}' then
      perform signalbox._configure_queue(v_queue_id, v_settings, true);
    end if;
    return v_queue_id;
  end if;
  perform from signalbox.queue q
  join signalbox.tenant t on t.tenant_id = q.tenant_id
  where q.name = create_queue.name and t.name <> create_queue.tenant;
  if found then
    perform signalbox._refuse('tenant', format('is %s here, and the queue %s belongs to another',
      quote_literal(create_queue.tenant), quote_literal(create_queue.name)));
  end if;
  select q.queue_id, to_jsonb(q) into v_queue_id, v_queue from signalbox.queue q where q.name = create_queue.name;
  select s.key
  into v_other
  from jsonb_each(v_settings) s
  where v_queue -> s.key is distinct from s.value
  limit 1;
  if found then
    perform signalbox._refuse(
      v_other, format('is %s in the queue %s that exists, and %s here: use configure_queue to change it',
        v_queue -> v_other, quote_literal(create_queue.name), v_settings -> v_other)
    );
  end if;
  return v_queue_id;
end $$;
