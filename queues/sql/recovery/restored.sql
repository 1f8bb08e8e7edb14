-- restored(skip_ids): adapt this database after it was restored from a backup. Returns what was done, as JSON.
-- Idempotent except for skip_ids. Everything that is kept by transaction id is counted again where the server is
-- another than the backup's (_is_from_elsewhere), without waiting for upkeep. Claim floors and the notes on message
-- groups are set back: a dump has rows of one moment and sequences of a later one.
-- Message ids and the positions of streams continue skip_ids further, and groups that had read everything move with the
-- end of the stream: ids that were drawn after the backup are known to others as something else (a consumer that has
-- done the work, a checkpoint of Spark), and must not name new messages. Leases stay: their consumers may still end
-- them, until their deadlines. A clock that is ahead is set back (reset_clock). Takes the locks of both aggregations,
-- in their order.
create or replace function signalbox.restored(skip_ids bigint default 10000000) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_elsewhere boolean;
  v_ahead double precision;
  v_ids bigint := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('restored');
  end if;
  if restored.skip_ids is null or restored.skip_ids not between 0 and 1000000000 then
    perform signalbox._refuse('skip_ids', 'must be from 0 to 1000000000');
  end if;
  perform pg_advisory_xact_lock(hashtext('signalbox.aggregate_counters'), 0),
    pg_advisory_xact_lock(hashtext('signalbox.aggregate_failure_groups'), 0);
  v_elsewhere := signalbox._is_from_elsewhere('counters', (select f.xmax from signalbox._last_aggregation() f));
  if v_elsewhere then
    perform signalbox._rebase_counters();
  end if;
  if signalbox._is_from_elsewhere('clusters', (select f.xmax from signalbox._last_failure_group_aggregation() f)) then
    perform signalbox._recount_failure_groups();
  end if;
  perform setval(h.floor, 0) from signalbox.claim_floor h where h.floor is not null;
  perform setval('signalbox.place_horizon', 0);
  perform signalbox._distrust_lanes();
  v_ahead := signalbox.clock_ahead_seconds();
  if v_ahead >= 1 then
    perform signalbox.reset_clock();
  end if;
  if restored.skip_ids > 0 then
    -- To the end of a segment: the log's next one begins behind it, as it does after a quiet day (ensure_partitions).
    perform setval('signalbox.message_id', (v_ids + restored.skip_ids + 999999) / 1000000 * 1000000);
    perform signalbox._skip_positions(restored.skip_ids);
  end if;
  return jsonb_build_object(
    'from_elsewhere', v_elsewhere,
    'clock_ahead_seconds', v_ahead,
    'message_ids', jsonb_build_object(
      'before', v_ids, 'after', pg_sequence_last_value('signalbox.message_id'::regclass)
    ),
    'leased', (select count(*) from signalbox.lease),
    'leased_until', (select max(l.deadline) from signalbox.lease l)
  );
end $$;
