-- restored(skip_ids): this database was just restored from a backup; returns what was done, as JSON. Idempotent but for the skip.
-- Everything that goes by transaction ids is counted anew where this is another cluster than the backup's (_is_from_elsewhere),
-- without waiting for upkeep. Claim floors, and what is known of lanes, go back to their minimum: a dump has rows of one moment and
-- sequences of a later one. Message ids and the positions of streams go on so many further, and groups that had read all
-- have read all: what was drawn after the backup is known to others as something else (who has done it already, a
-- checkpoint of Spark's), and none of it may come to mean a new message. Leases are left: handed out before the backup, their
-- holders may still end them, until their deadlines. A clock that is ahead is put back (reset_clock). Takes the locks of both folds, in their order.
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
  perform pg_advisory_xact_lock(hashtext('signalbox.fold'), 0), pg_advisory_xact_lock(hashtext('signalbox.fold_clusters'), 0);
  v_elsewhere := signalbox._is_from_elsewhere('counters', (select f.xmax from signalbox._last_fold() f));
  if v_elsewhere then
    perform signalbox._rebase_counters();
  end if;
  if signalbox._is_from_elsewhere('clusters', (select f.xmax from signalbox._last_cluster_fold() f)) then
    perform signalbox._recount_clusters();
  end if;
  perform setval(h.floor, 0) from signalbox.head h where h.floor is not null;
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
    'message_ids', jsonb_build_object('before', v_ids, 'after', pg_sequence_last_value('signalbox.message_id'::regclass)),
    'leased', (select count(*) from signalbox.lease),
    'leased_until', (select max(l.deadline) from signalbox.lease l)
  );
end $$;

-- Streams' positions go on so many further; a group behind which nothing lies goes along, or it would seem to lag by the gap.
create or replace function signalbox._skip_positions(p_skip bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_partition record;
  v_last bigint;
begin
  for v_partition in
    select s.stream_id, p.place - 1 as partition, p.positions
    from signalbox.stream s, unnest(s.positions) with ordinality p(positions, place)
    order by 1, 2
  loop
    v_last := coalesce(pg_sequence_last_value(v_partition.positions), 0);
    insert into signalbox.group_offset (group_id, partition, position)
    select g.group_id, v_partition.partition, v_last + p_skip
    from signalbox.consumer_group g
    cross join lateral (
      select o.position
      from signalbox.group_offset o
      where o.group_id = g.group_id and o.partition = v_partition.partition
      order by o.offset_id desc
      limit 1
    ) o
    where g.stream_id = v_partition.stream_id
      and (select b.position from signalbox._first_behind(v_partition.stream_id, v_partition.partition::integer, o.position, v_last) b) is null;
    perform setval(v_partition.positions, v_last + p_skip);
  end loop;
end $$;
