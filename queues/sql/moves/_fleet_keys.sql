-- The deduplication ids of these partitions whose window has not ended, with their first
-- message, in this cell.
create or replace function signalbox._fleet_keys(queue text, partitions smallint[])
returns table (
  deduplication_id text, message_id bigint, request_hash bytea, sent_at timestamptz, expires_at timestamptz
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.deduplication_id, d.message_id, d.request_hash, d.sent_at, d.expires_at
  from signalbox.queue q
  join signalbox.dedup d on d.queue_id = q.queue_id
  left join signalbox.message m on m.queue_id = q.queue_id and m.message_id = d.message_id
  where q.name = _fleet_keys.queue and d.expires_at > clock_timestamp()
    and d.sent_at > clock_timestamp() - interval '24 hours' -- the longest window; prunes older partitions
    and signalbox._partition_of(
      coalesce(m.group_id, case q.mode when 'fifo' then '' else d.deduplication_id end), {fleet.partitions}
    ) = any(_fleet_keys.partitions)
$$;
