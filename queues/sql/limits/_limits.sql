-- Return the limits with which an admission counter is compared: those of its queue or its tenant at this moment.
-- weighed: one of them depends on the messages that the queues hold.
create or replace function signalbox._limits(
  p_counter signalbox.admission_counter,
  out max_backlog_messages bigint, out max_backlog_bytes bigint, out max_oldest_age_seconds double precision,
  out publish_rate_per_second double precision, out weighed boolean, out who text, out scope text
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if p_counter.queue_id is not null then
    select q.max_backlog_messages, q.max_backlog_bytes, q.max_oldest_age_seconds, q.publish_rate_per_second,
      'queue ' || quote_literal(q.name), 'queue'
    into max_backlog_messages, max_backlog_bytes, max_oldest_age_seconds, publish_rate_per_second, who, scope
    from signalbox.queue q
    where q.queue_id = p_counter.queue_id;
  else
    select t.max_backlog_messages, t.max_backlog_bytes, t.max_oldest_age_seconds, t.publish_rate_per_second,
      'tenant ' || quote_literal(t.name), 'tenant'
    into max_backlog_messages, max_backlog_bytes, max_oldest_age_seconds, publish_rate_per_second, who, scope
    from signalbox.tenant t
    where t.tenant_id = p_counter.tenant_id;
  end if;
  weighed := max_backlog_messages > 0 or max_backlog_bytes > 0 or max_oldest_age_seconds > 0;
end $$;
