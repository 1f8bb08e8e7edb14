-- Admit a batch as a whole, without the messages that their deduplication ids keep from being sent. The caller holds
-- the locks of these ids, so a message with an unknown id is sent. The sends of the batch do not ask again. Indexes:
-- dedup_key, dedup_in_flight_pkey.
create or replace function signalbox._admit_batch(
  p_queue_id integer, p_payloads jsonb[], p_deduplication_ids text[], p_body_sha256s bytea[]
)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weight record;
begin
  select w.* into v_weight
  from signalbox._estimate_batch(p_queue_id, p_payloads, p_deduplication_ids, p_body_sha256s) w;
  if v_weight.messages > 0 then
    perform signalbox._admit(p_queue_id, v_weight.messages, v_weight.bytes);
  end if;
end $$;
