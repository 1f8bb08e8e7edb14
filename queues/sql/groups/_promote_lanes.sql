-- Move waiting messages of message groups with wake-up rows into ready, as many as each group has free slots. Their
-- time is the time of promotion, so each message of a group with a million waiting messages comes after the ready
-- messages of the other groups. Never waits: a group that another promoter holds keeps its wake-up row. A transaction
-- that changes a group leaves a wake-up row, and the group is read in a statement that begins after that row was seen
-- and the group was locked, so that no change is overlooked.
-- Bounded: messages of p_limit groups are released, and c_spare more groups are read, found among the first wake-up
-- rows. No more groups are released, since other transactions see them only when this one ends. Groups whose lock or
-- messages another transaction holds do not count. If the first rows release nothing, the search goes on among
-- c_hints_beyond rows, and at last from a random later time on: so an open transaction cannot hide the other groups,
-- however many wake-up rows its own groups have.
-- Every probe begins behind the consumed rows: wake-up rows at their claim floor, the group's places and slots at the
-- note of _note_lane. Wake-up rows are found by the hash of their group, and places in order; the conditions are
-- written so that the planner cannot use the other index of each table. Indexes: lane_hint_due, lane_hint_lane,
-- lane_floor_newest, lane_slot_lane, waiting_lane.
create or replace function signalbox._promote_lanes(p_queue_id integer, p_limit integer) returns integer
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
  c_first constant integer := 1;
  c_beyond constant integer := 2;
  c_anywhere constant integer := 3;
  c_hints_beyond constant integer := 10000;
  c_spare constant integer := 20;
  v_now timestamptz := clock_timestamp();
  v_from timestamptz;
  v_until timestamptz;
  v_window integer;
  v_seen integer;
  v_lanes text[];
  v_looked text[] := '{}';
  v_looks integer;
  v_emptied integer := 0;
  v_released integer := 0;
  v_mode text;
  v_name text;
  v_is_placed boolean;
  v_queue_max bigint;
  v_interval double precision;
  v_pause double precision;
  v_hint_floor timestamptz;
  v_lane text;
  v_hints tid[];
  v_epoch bigint;
  v_kept boolean := signalbox._floors_are_kept();
  v_noted bigint;
  v_origin tid;
  v_place bigint;
  v_slot bigint;
  v_latest bigint;
  v_holders bigint[];
  v_max bigint;
  v_free bigint;
  v_first bigint;
  v_moved integer;
  v_promoted integer := 0;
begin
  select q.name, q.mode = 'fifo' and q.admission_flags & {flag.is_placed} > 0, q.mode, case when q.mode = 'fifo' then 1
    when q.group_max_in_flight > 0 then q.group_max_in_flight else 1000 end,
    q.group_release_interval_seconds, coalesce((
      select max(signalbox.floor_time(h.floor)) from signalbox.claim_floor h where h.queue_id = q.queue_id
        and h.kind = {floor.lane_hint}
    ), '-infinity')
  into v_name, v_is_placed, v_mode, v_queue_max, v_interval, v_hint_floor
  from signalbox.queue q
  where q.queue_id = p_queue_id;

  v_from := v_hint_floor;
  for v_pass in c_first..c_anywhere loop
    v_window := case v_pass when c_first then 20 * (p_limit + c_spare)
      else greatest(c_hints_beyond, 40 * (p_limit + c_spare)) end;
    select array_agg(l.lane order by l.due_at), sum(l.hints), max(l.last_due_at)
    into v_lanes, v_seen, v_until
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
    v_looks := 0;
    foreach v_lane in array coalesce(v_lanes, '{}') loop
      exit when v_released >= p_limit or v_emptied >= p_limit + c_spare or v_looks >= 2 * (p_limit + c_spare);
      continue when v_lane = any(v_looked);
      continue when not pg_try_advisory_xact_lock(hashtextextended(p_queue_id || ':' || v_lane, 2));
      v_looks := v_looks + 1;
      v_looked := v_looked || v_lane;
      -- With its lock held no other process takes this group's wake-up rows. What they announce is visible from here
      -- on.
      v_hints := array(
        select h.ctid
        from signalbox.lane_hint h
        where hashtextextended(h.lane, h.queue_id::bigint) = hashtextextended(v_lane, p_queue_id::bigint)
          and h.lane = v_lane and h.queue_id + 0 = p_queue_id
          and h.due_at >= v_hint_floor and h.due_at <= v_now
        order by h.due_at
        limit 1000
      );
      v_max := v_queue_max;
      v_pause := v_interval;
      if v_mode <> 'fifo' then
        select l.max_in_flight, l.release_interval_seconds into v_max, v_pause
        from signalbox.lane_limit l
        where l.queue_id = p_queue_id and l.lane = v_lane;
        v_max := coalesce(v_max, v_queue_max);
        v_pause := coalesce(v_pause, v_interval);
      end if;
      v_epoch := pg_sequence_last_value('signalbox.lane_epoch'::regclass); -- after the wake-up rows (_distrust_lanes)
      select f.epoch, f.ctid, f.place, f.slot, f.latest, f.holders
      into v_noted, v_origin, v_place, v_slot, v_latest, v_holders
      from signalbox.lane_floor f
      where f.queue_id = p_queue_id and f.lane = v_lane
      order by f.noted desc
      limit 1;
      if not coalesce(v_kept and v_noted = v_epoch, false) then
        v_place := 0; -- without a note the walk begins at the start
        v_slot := 0;
        v_latest := 0;
        v_holders := '{}';
      end if;
      select v_max - count(*)
      into v_free
      from (
        select
        from unnest(v_holders) k(message_id), lateral (
          select from signalbox.lane_slot s where s.message_id = any(array[k.message_id]) and s.slot <= v_slot
        ) held
        union all
        (
          select
          from signalbox.lane_slot s
          where s.queue_id = p_queue_id and s.lane = v_lane and s.slot > v_slot
          limit v_max
        )
      ) taken;
      if v_free > 0 and v_pause > 0 then
        -- A hint that is not due yet is the pause after the last release.
        v_free := case when exists (
          select
          from signalbox.lane_hint h
          where hashtextextended(h.lane, h.queue_id::bigint) = hashtextextended(v_lane, p_queue_id::bigint)
            and h.lane = v_lane and h.queue_id + 0 = p_queue_id and h.due_at > v_now
        ) then 0 else 1 end;
      end if;
      if v_is_placed and signalbox._waits_for_source(v_name, v_lane) then
        v_free := 0; -- a release writes a wake-up row (_note_placement, _fleet_release_groups)
      end if;
      v_moved := 0;
      if v_free > 0 then
        -- In a FIFO group it is the first or none: a message that another transaction holds is not skipped.
        v_first := null;
        if v_mode = 'fifo' then
          select w.place into v_first
          from signalbox.waiting w
          where w.queue_id = p_queue_id and w.lane = v_lane and w.place >= v_place
          order by w.place
          limit 1;
        end if;
        with picked as (
          delete from signalbox.waiting w
          where w.ctid = any(array(
            select c.ctid
            from signalbox.waiting c
            where c.queue_id = p_queue_id and c.lane = v_lane and c.place >= v_place
              and (v_first is null or c.place = v_first)
            order by c.place
            limit v_free
            for update skip locked
          ))
          returning w.place, w.priority, w.receive_count, w.message_id
        ), slots as (
          insert into signalbox.lane_slot (message_id, queue_id, lane)
          select p.message_id, p_queue_id, v_lane from picked p
        ), counted as (
          insert into signalbox.counter_delta (queue_id, event, amount, lane)
          select p_queue_id, {event.released_from_lane}, count(*), v_lane from picked having count(*) > 0
        ), moment as materialized (
          select signalbox.clock_time() as at
        )
        insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
        select p_queue_id, p.priority, p.receive_count,
          m.at + row_number() over (order by p.place) * interval '1 microsecond',
          p.message_id, v_lane
        from moment m, picked p;
        get diagnostics v_moved = row_count;
        v_promoted := v_promoted + v_moved;
        v_released := v_released + case when v_moved > 0 then 1 else 0 end;
        -- A message that another transaction holds may come back.
        if v_moved < v_free then
          perform
          from signalbox.waiting w
          where w.queue_id = p_queue_id and w.lane = v_lane and w.place >= v_place
          order by w.place
          limit 1;
          continue when found;
        end if;
        if v_moved > 0 and v_pause > 0 then
          insert into signalbox.lane_hint (queue_id, lane, due_at)
          values (
            p_queue_id, v_lane, greatest(clock_timestamp() + v_pause * interval '1 second', signalbox.clock_time())
          );
        end if;
        if v_moved > 0 and random() < 0.06 then
          -- at random, for about one release in seventeen
          perform signalbox._note_lane(p_queue_id, v_lane, v_epoch, v_origin, v_place, v_slot, v_latest, v_holders);
        end if;
      end if;
      delete from signalbox.lane_hint h where h.ctid = any(v_hints);
      v_emptied := v_emptied + 1;
    end loop;
    exit when v_promoted > 0 or v_emptied >= p_limit + c_spare or v_seen is distinct from v_window;
    if v_pass = c_beyond then
      v_from := v_until + random() * (v_now - v_until);
    end if;
  end loop;
  return v_promoted;
end $$;
