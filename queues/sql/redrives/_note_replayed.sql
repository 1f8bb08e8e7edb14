-- Note each replayed message beside its redrive, with the time of its ticket, by which settle_redriven knows that it is
-- still ready.
create or replace function signalbox._note_replayed(
  p_queue_id integer, p_began timestamptz, p_ids bigint[], p_archived_ids bigint[], p_priorities int[],
  p_fingerprints text[],
  p_redrive_id bigint, p_actor text
) returns void
language sql
set enable_seqscan = off
set enable_nestloop = on
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.redriven (
    redrive_id, dead_letter_id, message_id, queue_id, redriven_at, actor, fingerprint, priority
  )
  select p_redrive_id, -g.archived_id, g.message_id, p_queue_id, coalesce(t.ready_at, clock_timestamp()), p_actor,
    g.fingerprint, g.priority
  from unnest(p_ids, p_archived_ids, p_priorities, p_fingerprints) with ordinality
    g(message_id, archived_id, priority, fingerprint, place)
  left join (
    select r.message_id, r.ready_at
    from (select distinct p as priority from unnest(p_priorities) p) band
    cross join lateral (
      select r.message_id, r.ready_at
      from signalbox.ready r
      where r.queue_id = p_queue_id and r.priority = band.priority and r.ready_at >= p_began
      offset 0
    ) r
  ) t on t.message_id = g.message_id
  order by g.place
$$;
