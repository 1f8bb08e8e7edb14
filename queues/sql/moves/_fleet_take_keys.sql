-- Remember deduplication ids that another cell knew, with their first message there. Returns
-- how many were new.
create or replace function signalbox._fleet_take_keys(
  queue text, deduplication_ids text[], message_ids bigint[], request_hashes bytea[], sent timestamptz[],
  expire timestamptz[]
) returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  with taken as (
    insert into signalbox.dedup (queue_id, deduplication_id, message_id, request_hash, sent_at, expires_at)
    select q.queue_id, k.deduplication_id, k.message_id, k.request_hash, k.sent_at, k.expires_at
    from signalbox.queue q
    cross join unnest(
      _fleet_take_keys.deduplication_ids, _fleet_take_keys.message_ids, _fleet_take_keys.request_hashes,
      _fleet_take_keys.sent, _fleet_take_keys.expire
    ) k(deduplication_id, message_id, request_hash, sent_at, expires_at)
    where q.name = _fleet_take_keys.queue and not exists (
      select from signalbox.dedup d
      where d.queue_id = q.queue_id and d.deduplication_id = k.deduplication_id and d.sent_at = k.sent_at
    )
    returning 1
  )
  select count(*) from taken
$$;
