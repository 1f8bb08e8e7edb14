-- The messages and bytes that a batch would take of a quota, without those whose deduplication id was used.
create or replace function signalbox._estimate_batch(
  p_queue_id integer, p_payloads jsonb[], p_deduplication_ids text[], p_body_sha256s bytea[],
  out messages integer, out bytes bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  select count(*), sum(octet_length(g.payload::text)) + signalbox._stored_bytes(array_agg(g.body_sha256))
  into messages, bytes
  from (
    select u.payload, u.deduplication_id, u.body_sha256,
      row_number() over (partition by u.deduplication_id order by u.place) as nth
    from unnest(
      p_payloads, p_deduplication_ids, p_body_sha256s
    ) with ordinality u(payload, deduplication_id, body_sha256, place)
  ) g
  where g.deduplication_id is null
    or g.nth = 1
    and not exists (
      select from signalbox.dedup_in_flight k
      where k.queue_id = p_queue_id and k.deduplication_id = g.deduplication_id
    )
    and not exists (
      select from signalbox.dedup d
      where d.queue_id = p_queue_id and d.deduplication_id = g.deduplication_id and d.expires_at > clock_timestamp()
        and d.sent_at > clock_timestamp() - interval '24 hours'
    );
end $$;
