-- Return the group and the body of a message in the trash, from the log or from kept bodies. A message without a body
-- is an error and is never skipped silently.
create or replace function signalbox._body_facts(p_queue_id integer, p_message_id bigint)
returns table (group_id text, deduplication_id text, payload jsonb, attributes jsonb, body_sha256 bytea)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select m.group_id, m.deduplication_id, m.payload, m.attributes, m.body_sha256
  from signalbox.message m
  where m.queue_id = p_queue_id and m.message_id = p_message_id
  union all
  select k.group_id, k.deduplication_id, k.payload, k.attributes, k.body_sha256
  from signalbox.message_kept k
  where k.queue_id = p_queue_id and k.message_id = p_message_id
  limit 1;
  if not found then
    raise exception using
      errcode = 'data_corrupted',
      message = format('message %s is in the trash and has no body', p_message_id);
  end if;
end $$;
