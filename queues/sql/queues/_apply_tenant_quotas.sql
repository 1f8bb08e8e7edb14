-- Apply the changed quotas of a tenant to its queues and streams: their admission flags and its
-- admission counter. A trigger.
create or replace function signalbox._apply_tenant_quotas() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
begin
  if signalbox._limits_sending(
    new.max_backlog_messages, new.max_backlog_bytes, new.max_oldest_age_seconds, new.publish_rate_per_second
  ) then
    perform signalbox._ensure_admission_counter(null, new.tenant_id);
  end if;
  perform signalbox._ensure_tenant_refusals(new.tenant_id, array_remove(array[
    case when new.max_queues > 0 then 'queues' end,
    case when new.max_streams > 0 then 'streams' end,
    case when new.max_stream_bytes > 0 then 'stream_bytes' end,
    case when new.max_retention_seconds > 0 then 'retention' end,
    case when new.max_long_polls > 0 then 'long_polls' end,
    case when new.publish_rate_per_second > 0 then 'rate' end
  ], null));
  if new.max_stream_bytes > 0 then
    perform signalbox._ensure_stream_bytes_counter(new.tenant_id);
  end if;
  update signalbox.queue q set admission_flags = q.admission_flags where q.tenant_id = new.tenant_id;
  update signalbox.stream s set admission_flags = s.admission_flags where s.tenant_id = new.tenant_id;
  return null;
end $$;
revoke execute on function signalbox._apply_tenant_quotas() from public;
create or replace trigger apply_tenant_quotas after insert or update on signalbox.tenant
  for each row execute function signalbox._apply_tenant_quotas();
