-- Triggers that keep what verbs must look at right, whoever writes a queue's or a tenant's row: queue.guards (1: limits on
-- sending, 2: a limit on what is in flight, 4: messages hold deduplication ids, 8 and 16: maintenance holds claims, refuses
-- sends), the gauges and counters that those limits need, what a tenant allows its queues, and where dead letters go
-- (queue.dead_letter_queue_id). A queue that no limit concerns has guards 0, and its verbs do nothing more.
-- With the owner's rights: whoever makes or configures a queue has none on tenants, whose row this locks, and cannot make sequences.
-- Not for PUBLIC: a role that may execute a trigger's function can call it with rows of its own, as a trigger of a table of its own.
create or replace function signalbox._guard_queue() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
begin
  if tg_op = 'INSERT' then
    -- A quota that is being set reaches this queue: either sees the other. Made one after the other only where counted.
    perform from signalbox.tenant t
    where t.tenant_id = new.tenant_id and t.max_queues > 0 and not new.is_dead_letter_queue
    for no key update;
    if not found then
      perform from signalbox.tenant t where t.tenant_id = new.tenant_id for share;
    end if;
  end if;
  select * into v_tenant from signalbox.tenant t where t.tenant_id = new.tenant_id;
  if tg_op = 'INSERT' then
    if v_tenant.max_queues > 0 and not new.is_dead_letter_queue then
      perform signalbox._check_queue_count(v_tenant);
    end if;
    if v_tenant.max_retention_seconds > 0 then
      new.retention_seconds := least(new.retention_seconds, v_tenant.max_retention_seconds);
    end if;
  else
    if v_tenant.max_retention_seconds > 0 and new.retention_seconds > v_tenant.max_retention_seconds
      and new.retention_seconds is distinct from old.retention_seconds
    then
      perform signalbox._refuse_tenant(
        v_tenant, 'retention', 'max_retention_seconds', v_tenant.max_retention_seconds, new.retention_seconds, null
      );
    end if;
    if new.dedup_scope <> old.dedup_scope then
      perform signalbox._forget_keys(new.queue_id);
    end if;
  end if;
  -- A burial that makes a dead-letter queue of one that names another itself changes nothing about that: it must not wait for it.
  if tg_op = 'INSERT' or new.dead_letter_queue_id is null or new.dead_letter_queue is distinct from old.dead_letter_queue
    or new.is_dead_letter_queue <> old.is_dead_letter_queue and (new.dead_letter_queue is null or not new.is_dead_letter_queue)
  then
    new.dead_letter_queue_id := signalbox._dead_letter_queue_of(new);
  end if;
  new.guards :=
    case when signalbox._limits_sending(
        new.max_backlog_messages, new.max_backlog_bytes, new.max_oldest_age_seconds, new.publish_rate_per_second
      ) or signalbox._limits_sending(
        v_tenant.max_backlog_messages, v_tenant.max_backlog_bytes, v_tenant.max_oldest_age_seconds, v_tenant.publish_rate_per_second
      ) then 1 else 0 end
    + case when new.max_in_flight > 0 or v_tenant.max_in_flight > 0 then 2 else 0 end
    + case when new.dedup_scope = 'in_flight' then 4 else 0 end
    + signalbox._maintenance_guards(v_tenant.name);
  return new;
end $$;
revoke execute on function signalbox._guard_queue() from public;

-- After the row is there, so that one that finds another of its name makes nothing.
create or replace function signalbox._equip_queue() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
begin
  if tg_op = 'UPDATE' and old.dead_letter_queue_id is distinct from new.dead_letter_queue_id and old.dead_letter_queue_id is not null then
    insert into signalbox.former_dead_letter_queue (queue_id, source_queue_id)
    values (old.dead_letter_queue_id, new.queue_id)
    on conflict do nothing; -- nobody else inserts it: the row of the queue is locked
  end if;
  if new.guards & 1 > 0 or new.closed or new.lane_max_waiting > 0 then
    perform signalbox._ensure_refusals(new.queue_id, array_remove(array[
      case when new.max_backlog_messages > 0 or t.max_backlog_messages > 0 then 'backlog' end,
      case when new.max_backlog_bytes > 0 or t.max_backlog_bytes > 0 then 'bytes' end,
      case when new.max_oldest_age_seconds > 0 or t.max_oldest_age_seconds > 0 then 'age' end,
      case when new.publish_rate_per_second > 0 or t.publish_rate_per_second > 0 then 'rate' end,
      case when new.lane_max_waiting > 0 then 'lane' end,
      case when new.closed then 'closed' end
    ], null))
    from signalbox.tenant t
    where t.tenant_id = new.tenant_id;
  end if;
  if signalbox._limits_sending(
    new.max_backlog_messages, new.max_backlog_bytes, new.max_oldest_age_seconds, new.publish_rate_per_second
  ) then
    perform signalbox._ensure_gauge(new.queue_id, null);
  end if;
  return null;
end $$;
revoke execute on function signalbox._equip_queue() from public;

create or replace function signalbox._guard_tenant() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
begin
  if signalbox._limits_sending(
    new.max_backlog_messages, new.max_backlog_bytes, new.max_oldest_age_seconds, new.publish_rate_per_second
  ) then
    perform signalbox._ensure_gauge(null, new.tenant_id);
  end if;
  perform signalbox._ensure_tenant_refusals(new.tenant_id, array_remove(array[
    case when new.max_queues > 0 then 'queues' end,
    case when new.max_retention_seconds > 0 then 'retention' end,
    case when new.max_long_polls > 0 then 'long_polls' end
  ], null));
  update signalbox.queue q set guards = q.guards where q.tenant_id = new.tenant_id;
  return null;
end $$;
revoke execute on function signalbox._guard_tenant() from public;

create or replace function signalbox._limits_sending(
  p_messages bigint, p_bytes bigint, p_age double precision, p_rate double precision
) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_messages > 0 or p_bytes > 0 or p_age > 0 or p_rate > 0
$$;

-- May the tenant have one more? Two that make one at the same time take turns. Dead-letter queues do not count: a message
-- that dies must always have a place.
create or replace function signalbox._check_queue_count(p_tenant signalbox.tenant) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queues bigint;
begin
  perform from signalbox.tenant t where t.tenant_id = p_tenant.tenant_id for no key update;
  select count(*) into v_queues
  from signalbox.queue q
  where q.tenant_id = p_tenant.tenant_id and not q.is_dead_letter_queue;
  if v_queues >= p_tenant.max_queues then
    perform signalbox._refuse_tenant(p_tenant, 'queues', 'max_queues', p_tenant.max_queues, v_queues + 1, null);
  end if;
end $$;

-- The registers of a queue's or a tenant's gauge, made once and kept. They are not logged: after a crash a gauge is
-- evaluated anew. The mean size is, since nothing else remembers it.
create or replace function signalbox._ensure_gauge(p_queue_id integer, p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_prefix text := 'gauge_' || coalesce('q' || p_queue_id, 't' || p_tenant_id) || '_';
  v_register text;
begin
  if exists (select from signalbox.gauge g where g.queue_id = p_queue_id or g.tenant_id = p_tenant_id) then
    return;
  end if;
  foreach v_register in array array[
    'next_free', 'last_xid', 'admitted', 'base', 'bytes_held', 'oldest', 'evaluated', 'lost', 'mark_admitted', 'mark_xid'
  ] loop
    execute format('create unlogged sequence if not exists signalbox.%I minvalue -4000000000000000000', v_prefix || v_register);
    perform signalbox._share(format('signalbox.%I', v_prefix || v_register)::regclass, 'signalbox.register_grants');
  end loop;
  execute format('create sequence if not exists signalbox.%I minvalue 0', v_prefix || 'mean_bytes');
  perform signalbox._share(format('signalbox.%I', v_prefix || 'mean_bytes')::regclass, 'signalbox.register_grants');
  v_prefix := 'signalbox.' || v_prefix;
  insert into signalbox.gauge (
    queue_id, tenant_id, next_free, last_xid, admitted, base, bytes_held, mean_bytes, oldest, evaluated, lost, mark_admitted, mark_xid
  )
  values (
    p_queue_id, p_tenant_id, (v_prefix || 'next_free')::regclass, (v_prefix || 'last_xid')::regclass, (v_prefix || 'admitted')::regclass, (v_prefix || 'base')::regclass,
    (v_prefix || 'bytes_held')::regclass, (v_prefix || 'mean_bytes')::regclass, (v_prefix || 'oldest')::regclass, (v_prefix || 'evaluated')::regclass, (v_prefix || 'lost')::regclass,
    (v_prefix || 'mark_admitted')::regclass, (v_prefix || 'mark_xid')::regclass
  )
  on conflict do nothing;
  -- From here on what is admitted is told from what was there before.
  perform signalbox._evaluate(g.gauge_id) from signalbox.gauge g where g.queue_id = p_queue_id or g.tenant_id = p_tenant_id;
end $$;

-- A counter for each reason for which a send to this queue may be refused. Sequences, since a refusal rolls back.
create or replace function signalbox._ensure_refusals(p_queue_id integer, p_reasons text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reason text;
begin
  foreach v_reason in array p_reasons loop
    continue when exists (select from signalbox.refusal r where r.queue_id = p_queue_id and r.reason = v_reason);
    execute format('create sequence if not exists signalbox.%I minvalue 0 start 1', format('refused_%s_%s', p_queue_id, v_reason));
    perform signalbox._share(format('signalbox.refused_%s_%s', p_queue_id, v_reason)::regclass, 'signalbox.register_grants');
    insert into signalbox.refusal (queue_id, reason, counter)
    values (p_queue_id, v_reason, format('signalbox.refused_%s_%s', p_queue_id, v_reason)::regclass)
    on conflict do nothing;
  end loop;
end $$;

-- The same for what is refused to a tenant and is no send.
create or replace function signalbox._ensure_tenant_refusals(p_tenant_id integer, p_reasons text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reason text;
begin
  foreach v_reason in array p_reasons loop
    continue when exists (select from signalbox.tenant_refusal r where r.tenant_id = p_tenant_id and r.reason = v_reason);
    execute format('create sequence if not exists signalbox.%I minvalue 0 start 1', format('tenant_refused_%s_%s', p_tenant_id, v_reason));
    perform signalbox._share(format('signalbox.tenant_refused_%s_%s', p_tenant_id, v_reason)::regclass, 'signalbox.register_grants');
    insert into signalbox.tenant_refusal (tenant_id, reason, counter)
    values (p_tenant_id, v_reason, format('signalbox.tenant_refused_%s_%s', p_tenant_id, v_reason)::regclass)
    on conflict do nothing;
  end loop;
end $$;

-- A role that may execute a trigger function can put it on a table of its own, and run it with columns of its own types.
revoke execute on function signalbox._guard_queue(), signalbox._equip_queue(), signalbox._guard_tenant() from public;
create or replace trigger guard_queue before insert or update on signalbox.queue
  for each row execute function signalbox._guard_queue();
create or replace trigger equip_queue after insert or update on signalbox.queue
  for each row execute function signalbox._equip_queue();
create or replace trigger guard_tenant after insert or update on signalbox.tenant
  for each row execute function signalbox._guard_tenant();
