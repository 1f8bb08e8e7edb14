-- Compute the columns of a queue that verbs check, for every statement that writes the row of a queue:
-- queue.admission_flags (queues/codes.py), and where dead letters go (queue.dead_letter_queue_id); and apply what its
-- tenant allows its queues. A queue that no limit concerns has no flag, and its verbs do nothing more. A trigger.
-- With the owner's rights: a role that makes or configures a queue has none on tenants, whose row this locks. Not for
-- PUBLIC: a role that may execute a trigger's function can call it with rows of its own, as a trigger of a table of its
-- own.
create or replace function signalbox._set_admission_flags() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
begin
  if tg_op = 'INSERT' then
    -- A quota that is being set waits for this queue, or this queue for the quota. Queues are created one at a time
    -- only where they are counted.
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
  -- A death that turns a queue into a dead-letter queue must not wait, and changes nothing here.
  if tg_op = 'INSERT' or new.dead_letter_queue_id is null
    or new.dead_letter_queue is distinct from old.dead_letter_queue
    or new.is_dead_letter_queue <> old.is_dead_letter_queue
      and (new.dead_letter_queue is null or not new.is_dead_letter_queue)
  then
    new.dead_letter_queue_id := signalbox._dead_letter_queue_of(new);
  end if;
  new.admission_flags :=
    case when signalbox._limits_sending(
        new.max_backlog_messages, new.max_backlog_bytes, new.max_oldest_age_seconds, new.publish_rate_per_second
      ) or signalbox._limits_sending(
        v_tenant.max_backlog_messages, v_tenant.max_backlog_bytes, v_tenant.max_oldest_age_seconds,
        v_tenant.publish_rate_per_second
      ) then {flag.limits_sending} else 0 end
    + case when new.max_in_flight > 0 or v_tenant.max_in_flight > 0 then {flag.limits_in_flight} else 0 end
    + case when new.dedup_scope = 'in_flight' then {flag.holds_deduplication_ids} else 0 end
    + case when exists (
        select from signalbox.queue_subscription s where s.source_queue_id = new.queue_id
      ) then {flag.feeds_queues} else 0 end
    + case when exists (
        select from signalbox.lane_limit l where l.queue_id = new.queue_id and l.max_waiting is not null
      ) then {flag.limits_groups} else 0 end
    + case when signalbox._is_placed(new.name) then {flag.is_placed} else 0 end
    + signalbox._maintenance_flags(v_tenant.name);
  return new;
end $$;
-- A role that may execute a trigger function can put it on a table of its own, and run it with columns of its own
-- types.
revoke execute on function signalbox._set_admission_flags() from public;
create or replace trigger set_admission_flags before insert or update on signalbox.queue
  for each row execute function signalbox._set_admission_flags();
