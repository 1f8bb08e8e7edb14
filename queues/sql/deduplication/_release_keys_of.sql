-- Release the deduplication ids of messages, where the queue's messages hold any.
create or replace function signalbox._release_keys_of(p_queue_id integer, p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from signalbox.queue q where q.queue_id = p_queue_id and q.dedup_scope = 'in_flight') then
    perform signalbox._release_keys(p_message_ids);
  end if;
end $$;
