-- reset_clock(release_delayed, ahead_until): set the engine's clock back to the server's clock, after that was ahead
-- and has been corrected. Returns what clock_state would have returned, and as `left` how many rows open transactions
-- hold. Refused while the engine's clock is not ahead, unless ahead_until says where it was at an earlier call.
-- Safe beside all verbs: it holds the lock of the claim floors, makes the leader stand for election again, and sets
-- every floor to its minimum, so that tickets with times before the former clock are found. Messages that were ready,
-- waiting or leased at a future time, and retries, get the time that they should have had. A lease ends at the latest
-- after its queue's visibility timeout, so a message whose consumer still works may be delivered twice. Messages whose
-- delay is no longer known stay scheduled until the former time of the clock; release_delayed => true makes them due
-- now. Rows that others have locked are left as they are.
-- Call it outside other work: a rollback does not undo the sequences that it sets.
create or replace function signalbox.reset_clock(
  release_delayed boolean default false, ahead_until timestamptz default null
)
returns jsonb
language plpgsql
set lock_timeout = '10s'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  c_least_seconds constant double precision := 1;
  v_now timestamptz;
  v_until timestamptz := coalesce(reset_clock.ahead_until, signalbox._clock_at());
  v_ahead interval;
  v_state jsonb;
  v_rows bigint;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('reset_clock');
  end if;
  if reset_clock.ahead_until is null and signalbox.clock_ahead_seconds() < c_least_seconds then
    perform signalbox._refuse('clock', format(
      'is %s s ahead of the server''s: it can be reset when it is %s s ahead or more, or with ahead_until',
      round(signalbox.clock_ahead_seconds()::numeric, 3), c_least_seconds
    ));
  end if;
  perform pg_advisory_xact_lock(hashtext('signalbox.floor'), 0);
  update signalbox.upkeep_leader l set expires_at = '-infinity';
  v_state := signalbox.clock_state(reset_clock.ahead_until) || jsonb_build_object('ahead_until', v_until);
  v_now := clock_timestamp();
  v_ahead := v_until - v_now;
  perform setval('signalbox.clock', (extract(epoch from v_now) * 1000000)::bigint);
  perform setval(h.floor, 0) from signalbox.claim_floor h where h.floor is not null;
  perform setval('signalbox.place_horizon', 0);
  update signalbox.ready r
  set ready_at = least(r.ready_at - v_ahead, v_now)
  where r.ctid = any(array(
    select c.ctid from signalbox.ready c where c.ready_at > v_now for update skip locked
  ));
  update signalbox.waiting w
  set waiting_since = least(w.waiting_since - v_ahead, v_now)
  where w.ctid = any(array(
    select c.ctid from signalbox.waiting c where c.waiting_since > v_now for update skip locked
  ));
  update signalbox.lease l
  set deadline = a.deadline, leased_at = least(l.leased_at, v_now)
  from signalbox._leases_ahead(v_now, v_until) a
  where l.ctid = any(array(select c.ctid from signalbox.lease c where c.ctid = a.tid for update skip locked));
  update signalbox.scheduled s
  set due_at = coalesce(a.due_at, v_now)
  from signalbox._scheduled_ahead(v_now, v_until, reset_clock.ahead_until is not null) a
  where (a.due_at is not null or reset_clock.release_delayed)
    and s.ctid = any(array(select c.ctid from signalbox.scheduled c where c.ctid = a.tid for update skip locked));
  update signalbox.lane_hint h
  set due_at = least(h.due_at, v_now + q.group_release_interval_seconds * interval '1 second')
  from signalbox.queue q
  where q.queue_id = h.queue_id
    and h.ctid = any(array(select c.ctid from signalbox.lane_hint c where c.due_at > v_now for update skip locked));
  update signalbox.consumer c
  set last_seen_at = v_now
  where c.ctid = any(
    array(select o.ctid from signalbox.consumer o where o.last_seen_at > v_now for update skip locked)
  );
  update signalbox.group_member m
  set lease_until = v_now + m.lease_seconds * interval '1 second'
  where m.ctid = any(array(
    select o.ctid
    from signalbox.group_member o
    where o.lease_until > v_now + o.lease_seconds * interval '1 second'
    for update skip locked
  ));
  perform signalbox._distrust_lanes();
  select (s ->> 'ready')::bigint + (s ->> 'waiting')::bigint + (s ->> 'scheduled')::bigint
  into v_rows
  from signalbox.clock_state(v_until) s;
  v_rows := v_rows + (
    select count(*) from signalbox.lease l
    join signalbox._leases_ahead(v_now, v_until) a on a.tid = l.ctid
    where a.deadline < l.deadline
  );
  return v_state || jsonb_build_object('left', v_rows);
end $$;
