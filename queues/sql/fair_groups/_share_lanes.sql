-- Share a queue between its message groups (fair_groups): make waiting messages ready, one of each group in turn. Enough
-- for a claim of p_wanted and c_ahead more, less what is ready already; at least p_wanted, since other consumers may
-- hold what is ready, and messages without a group must not keep the groups out. Upkeep wants none, so that it only
-- keeps the first messages ready for consumers that sleep. Returns how many became ready.
-- Each group takes its turn by its oldest wake-up row: it gives its share, and a new row puts it behind the others while
-- messages wait in it. What a small group cannot give, others give. No message takes a permit of its group, so an ack
-- lets nothing go, and the group has no limit in flight.
-- Never waits, and locks no group: several consumers take from one group at once, each past the rows of the others
-- (skip locked). No message is overlooked: a consumer reads a group after it has locked its wake-up rows, and writes a
-- new one where it still sees a message, also one that another transaction holds and may give back.
-- Probes begin behind the consumed rows, as in _promote_lanes. If the first wake-up rows are of few groups, more are
-- read, the last from a random time on. Indexes: ready_claim, lane_hint_due, lane_hint_lane, lane_floor_newest,
-- waiting_lane.
create or replace function signalbox._share_lanes(p_queue_id integer, p_wanted integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  c_ahead constant integer := 32;
  c_reads constant integer := 3;
  c_hints_beyond constant integer := 10000;
  c_spare constant integer := 20;
  v_now timestamptz := clock_timestamp();
  v_kept boolean := signalbox._floors_are_kept();
  v_bands smallint[];
  v_floors timestamptz[];
  v_hint_floor timestamptz;
  v_left integer := p_wanted + c_ahead;
  v_from timestamptz;
  v_until timestamptz;
  v_window integer;
  v_seen integer;
  v_more text[];
  v_lanes text[] := '{}';
  v_visited integer := 0;
  v_nth integer;
  v_open integer[] := '{}';
  v_share integer;
  v_rest integer;
  v_hints tid[] := '{}';
  v_epoch bigint;
  v_epochs bigint[] := '{}';
  v_places bigint[] := '{}';
  v_given jsonb;
  v_nths jsonb;
  v_taken integer;
  v_new_lanes text[];
  v_new_places bigint[];
  v_priorities smallint[];
  v_counts smallint[];
  v_ids bigint[];
  v_all_lanes text[] := '{}';
  v_all_places bigint[] := '{}';
  v_all_priorities smallint[] := '{}';
  v_all_counts smallint[] := '{}';
  v_all_ids bigint[] := '{}';
begin
  select array_agg(h.kind) filter (where h.kind >= {priority.lowest}),
    array_agg(f.at) filter (where h.kind >= {priority.lowest}),
    coalesce(max(f.at) filter (where h.kind = {floor.lane_hint}), '-infinity')
  into v_bands, v_floors, v_hint_floor
  from signalbox.claim_floor h, lateral (select signalbox.floor_time(h.floor) as at) f
  where h.queue_id = p_queue_id;
  select greatest(v_left - count(*), p_wanted)
  into v_left
  from (
    select
    from unnest(v_bands, v_floors) b(priority, floor), lateral (
      select from signalbox.ready r
      where r.queue_id = p_queue_id and r.priority = b.priority and r.ready_at >= b.floor
      limit v_left
    ) r
    limit v_left
  ) r;
  if v_left = 0 then
    return 0;
  end if;

  v_from := v_hint_floor;
  for v_read in 1..c_reads loop
    v_window := case v_read when 1 then 20 * (v_left + c_spare)
      else greatest(c_hints_beyond, 40 * (v_left + c_spare)) end;
    select array_agg(l.lane order by l.due_at), sum(l.hints), max(l.last_due_at)
    into v_more, v_seen, v_until
    from (
      select f.lane, count(*) as hints, min(f.due_at) as due_at, max(f.due_at) as last_due_at
      from (
        select h.lane, h.due_at
        from signalbox.lane_hint h
        where h.queue_id = p_queue_id and h.due_at >= v_from and h.due_at <= v_now
        order by h.due_at
        limit v_window
      ) f
      group by f.lane
    ) l;
    v_lanes := v_lanes || array(
      select m.lane from unnest(v_more) with ordinality m(lane, nth) where m.lane <> all(v_lanes) order by m.nth
    );
    exit when cardinality(v_lanes) >= v_left or v_seen is distinct from v_window;
    if v_read > 1 then
      v_from := v_until + random() * (v_now - v_until);
    end if;
  end loop;

  if cardinality(v_lanes) = 0 then
    return 0;
  end if;
  loop
    if cardinality(v_open) = 0 then
      exit when v_left = 0 or v_visited >= cardinality(v_lanes);
      v_open := array(select n from generate_series(v_visited + 1, least(cardinality(v_lanes), v_visited + v_left)) n);
      v_visited := v_visited + cardinality(v_open);
      -- What these rows announce is visible from here on. The rows that another consumer has locked are its own.
      v_hints := v_hints || array(
        select h.ctid
        from unnest(v_open) o(nth), lateral (
          select h.ctid
          from signalbox.lane_hint h
          where hashtextextended(h.lane, h.queue_id::bigint) = hashtextextended(v_lanes[o.nth], p_queue_id::bigint)
            and h.lane = v_lanes[o.nth] and h.queue_id + 0 = p_queue_id
            and h.due_at >= v_hint_floor and h.due_at <= v_now
          order by h.due_at
          limit c_hints_beyond
          for update skip locked
        ) h
      );
      v_epoch := pg_sequence_last_value('signalbox.lane_epoch'::regclass); -- after the rows (_distrust_lanes)
      v_epochs := v_epochs || array_fill(v_epoch, array[cardinality(v_open)]);
      v_places := v_places || array(
        select coalesce((
          select case when v_kept and f.epoch = v_epoch then f.place end
          from signalbox.lane_floor f
          where f.queue_id = p_queue_id and f.lane = v_lanes[o.nth]
          order by f.noted desc
          limit 1
        ), 0)
        from unnest(v_open) with ordinality o(nth, turn)
        order by o.turn
      );
    end if;
    v_share := v_left / cardinality(v_open);
    v_rest := v_left % cardinality(v_open);
    with picked as (
      delete from signalbox.waiting w
      where w.ctid = any(array(
        select c.ctid
        from unnest(v_open) with ordinality o(nth, turn), lateral (
          select c.ctid
          from signalbox.waiting c
          where c.queue_id = p_queue_id and c.lane = v_lanes[o.nth] and c.place >= v_places[o.nth]
          order by c.place
          limit v_share + case when o.turn <= v_rest then 1 else 0 end
          for update skip locked
        ) c
      ))
      returning w.lane, w.place, w.priority, w.receive_count, w.message_id
    )
    select array_agg(p.lane), array_agg(p.place), array_agg(p.priority), array_agg(p.receive_count),
      array_agg(p.message_id), count(*)
    into v_new_lanes, v_new_places, v_priorities, v_counts, v_ids, v_taken
    from picked p;
    if v_taken > 0 then
      v_all_lanes := v_all_lanes || v_new_lanes;
      v_all_places := v_all_places || v_new_places;
      v_all_priorities := v_all_priorities || v_priorities;
      v_all_counts := v_all_counts || v_counts;
      v_all_ids := v_all_ids || v_ids;
      v_left := v_left - v_taken;
    end if;
    exit when v_left = 0;
    -- Those that have given all that they were asked for may have more.
    select jsonb_object_agg(g.lane, g.given) into v_given
    from (select n.lane, count(*) as given from unnest(v_new_lanes) n(lane) group by n.lane) g;
    v_open := array(
      select o.nth
      from unnest(v_open) with ordinality o(nth, turn)
      where coalesce((v_given ->> v_lanes[o.nth])::integer, 0)
        = v_share + case when o.turn <= v_rest then 1 else 0 end
      order by o.turn
    );
  end loop;

  select coalesce(jsonb_object_agg(g.lane, g.given), '{}') into v_given
  from (select n.lane, count(*) as given from unnest(v_all_lanes) n(lane) group by n.lane) g;
  -- Groups that gave fewer come first in the next release. Sorted before the rows get their times.
  with remaining as materialized (
    select v_lanes[n] as lane
    from generate_series(1, v_visited) n
    where (
      select true
      from signalbox.waiting w
      where w.queue_id = p_queue_id and w.lane = v_lanes[n] and w.place >= v_places[n]
      order by w.place
      limit 1
    )
    order by coalesce((v_given ->> v_lanes[n])::integer, 0), n
  )
  insert into signalbox.lane_hint (queue_id, lane)
  select p_queue_id, r.lane from remaining r;
  delete from signalbox.lane_hint h where h.ctid = any(v_hints);
  if cardinality(v_all_ids) = 0 then
    return 0;
  end if;
  -- As often as in _promote_lanes for the number of messages. Who notes holds the group's lock, as _note_lane needs.
  for v_nth in
    select n from generate_series(1, v_visited) n
    where random() < 0.06 * coalesce((v_given ->> v_lanes[n])::integer, 0)
  loop
    if pg_try_advisory_xact_lock(hashtextextended(p_queue_id || ':' || v_lanes[v_nth], 2)) then
      perform signalbox._note_lane(
        p_queue_id, v_lanes[v_nth], v_epochs[v_nth],
        (
          select f.ctid
          from signalbox.lane_floor f
          where f.queue_id = p_queue_id and f.lane = v_lanes[v_nth]
          order by f.noted desc
          limit 1
        ),
        v_places[v_nth], 0, 0, '{}'
      );
    end if;
  end loop;
  select jsonb_object_agg(l.lane, l.nth) into v_nths
  from unnest(v_lanes[1:v_visited]) with ordinality l(lane, nth);
  with taken as materialized (
    select t.message_id, t.priority, t.receive_count, t.lane,
      row_number() over (partition by t.lane order by t.place) as turn
    from unnest(v_all_ids, v_all_priorities, v_all_counts, v_all_lanes, v_all_places)
      t(message_id, priority, receive_count, lane, place)
  ), counted as (
    -- They leave the group at once, which counts what is under way by permits.
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select p_queue_id, e.event, c.amount, c.lane
    from (select t.lane, count(*) as amount from taken t group by t.lane) c,
      (values ({event.released_from_lane}), ({event.left_lane})) e(event)
  ), moment as materialized (
    select signalbox.clock_time() as at
  )
  insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
  select p_queue_id, t.priority, t.receive_count,
    m.at + row_number() over (order by t.turn, (v_nths ->> t.lane)::integer) * interval '1 microsecond', t.message_id,
    t.lane
  from moment m, taken t;
  return cardinality(v_all_ids);
end $$;
