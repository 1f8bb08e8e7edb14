-- announce(since): wake the receivers of every queue in which messages became available since a snapshot, including
-- dead-letter queues and messages restored from the trash. Returns the snapshot to pass next time. Upkeep calls it
-- after the senders have committed: a NOTIFY inside their transactions would serialise all commits of the database.
-- Channel signalbox_ready; the payload is a list of queue names separated by commas, with old names that still work.
create or replace function signalbox.announce(since pg_snapshot) returns pg_snapshot
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_xmax bigint := pg_snapshot_xmax(announce.since)::text::bigint;
  v_xip bigint[] := array(select x::text::bigint from pg_snapshot_xip(announce.since) x);
  v_snapshot pg_snapshot;
  v_queue_ids integer[];
begin
  select pg_current_snapshot(), array(
    select distinct d.queue_id
    from signalbox.counter_delta d
    where d.txid >= (select signalbox._first_ended(v_xmax, v_xip))
      and (d.txid >= v_xmax or d.txid = any(v_xip))
      and d.event = any({events.claimable})
  )
  into v_snapshot, v_queue_ids;
  perform pg_notify('signalbox_ready', string_agg(chunk.name, ','))
  from (
    select n.name, (row_number() over ()) / 60 as part
    from (
      select q.name from signalbox.queue q where q.queue_id = any(v_queue_ids)
      union all
      select a.name from signalbox.queue_alias a where a.queue_id = any(v_queue_ids)
        and a.works_until > clock_timestamp()
    ) n
  ) chunk
  group by chunk.part;
  return v_snapshot;
end $$;
