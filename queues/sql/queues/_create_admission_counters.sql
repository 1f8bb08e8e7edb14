-- Make the admission counters and counters of refusals that a queue's limits need. A trigger after the row is written,
-- so that a transaction that finds another queue of the name makes nothing.
create or replace function signalbox._create_admission_counters() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
begin
  if tg_op = 'UPDATE' and old.dead_letter_queue_id is distinct from new.dead_letter_queue_id
    and old.dead_letter_queue_id is not null then
    insert into signalbox.former_dead_letter_queue (queue_id, source_queue_id)
    values (old.dead_letter_queue_id, new.queue_id)
    on conflict do nothing; -- no other transaction inserts it: the queue's row is locked
  end if;
  if new.admission_flags & {flag.limits_sending} > 0 or new.closed or new.group_max_waiting > 0 then
    perform signalbox._ensure_refusals(new.queue_id, array_remove(array[
      case when new.max_backlog_messages > 0 or t.max_backlog_messages > 0 then 'backlog' end,
      case when new.max_backlog_bytes > 0 or t.max_backlog_bytes > 0 then 'bytes' end,
      case when new.max_oldest_age_seconds > 0 or t.max_oldest_age_seconds > 0 then 'age' end,
      case when new.publish_rate_per_second > 0 or t.publish_rate_per_second > 0 then 'rate' end,
      case when new.group_max_waiting > 0 then 'lane' end,
      case when new.closed then 'closed' end
    ], null))
    from signalbox.tenant t
    where t.tenant_id = new.tenant_id;
  end if;
  if signalbox._limits_sending(
    new.max_backlog_messages, new.max_backlog_bytes, new.max_oldest_age_seconds, new.publish_rate_per_second
  ) then
    perform signalbox._ensure_admission_counter(new.queue_id, null);
  end if;
  return null;
end $$;
revoke execute on function signalbox._create_admission_counters() from public;
create or replace trigger create_admission_counters after insert or update on signalbox.queue
  for each row execute function signalbox._create_admission_counters();
