-- clock_ahead_seconds(): how far the engine's clock is ahead of the server's; 0 while it is not. It is when the server's
-- clock was ahead once while upkeep ran, and was set right: the engine's never goes back by itself.
create or replace function signalbox.clock_ahead_seconds() returns double precision
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select greatest(date_part('epoch', signalbox._clock_at() - clock_timestamp()), 0)
$$;

create or replace function signalbox._clock_at() returns timestamptz
language sql volatile
begin atomic
  select timestamptz 'epoch' + coalesce(pg_sequence_last_value('signalbox.clock'::regclass), 0) * interval '1 microsecond';
end;

-- clock_state(ahead_until): how far the engine's clock is ahead, and how many rows have a time that comes of that (as
-- reset_clock says); as JSON. Changes nothing. Reads what is ready, scheduled, leased and waiting.
create or replace function signalbox.clock_state(ahead_until timestamptz default null) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_until timestamptz := coalesce(clock_state.ahead_until, signalbox._clock_at());
begin
  return jsonb_build_object(
    'ahead_seconds', signalbox.clock_ahead_seconds(),
    'ahead_until', v_until,
    'ready', (select count(*) from signalbox.ready r where r.ready_at > v_now),
    'waiting', (select count(*) from signalbox.waiting w where w.waiting_since > v_now),
    'leased', (select count(*) from signalbox._leases_ahead(v_now, v_until)),
    'scheduled', (select count(*) from signalbox._scheduled_ahead(v_now, v_until, clock_state.ahead_until is not null) s where s.due_at is not null),
    'unknown', (select count(*) from signalbox._scheduled_ahead(v_now, v_until, clock_state.ahead_until is not null) s where s.due_at is null)
  );
end $$;

-- Leases whose deadline the clock has put off, or which were handed out while the server's clock was ahead, and until when they
-- last now: their queue's visibility timeout, since what was asked for is not known.
create or replace function signalbox._leases_ahead(p_now timestamptz, p_until timestamptz)
returns table (tid tid, deadline timestamptz)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select l.ctid, least(l.deadline, p_now + q.visibility_timeout_seconds * interval '1 second')
  from signalbox.lease l
  join signalbox.queue q on q.queue_id = l.queue_id
  where l.deadline > p_now and (l.leased_at > p_now or l.deadline <= p_until)
$$;

-- Scheduled messages whose time the clock has put off, and when they were to be due: a retry by the row of its failure, what was
-- sent while the server's clock was ahead by what lay between. Null: it cannot be known; what is due at the very time of
-- the clock was sent with a delay of any length up to it. What was put off before the clock was ahead is not among them.
-- Again: what such a reset has moved already cannot be told from what it has not, and is left.
create or replace function signalbox._scheduled_ahead(p_now timestamptz, p_until timestamptz, p_again boolean)
returns table (tid tid, due_at timestamptz)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select a.tid, a.due_at
  from (
    select s.ctid as tid, s.due_at as put_off_to,
      case
        when f.failed_at > p_now and not p_again then p_now + (f.retry_at - f.failed_at)
        when f.failed_at <= p_now then f.retry_at
        when m.sent_at > p_now and not p_again then p_now + greatest(s.due_at - m.sent_at, interval '0')
        when s.due_at <> p_until then s.due_at
      end as due_at
    from signalbox.scheduled s
    left join lateral (
      select f.failed_at, f.retry_at
      from signalbox.failure f
      where f.message_id = s.message_id and f.queue_id = s.queue_id and f.receive_count = s.receive_count
      order by f.failed_at desc
      limit 1
    ) f on s.receive_count > 0
    left join lateral (
      select m.sent_at from signalbox.message m where m.queue_id = s.queue_id and m.message_id = s.message_id
    ) m on f.failed_at is null
    where s.due_at > p_now
  ) a
  where a.due_at is distinct from a.put_off_to
$$;

-- reset_clock(release_delayed, ahead_until): put the engine's clock back to the server's, after that was ahead and has been set
-- right; returns what clock_state would have said, and how many rows are `left` in the hands of open transactions. Refused
-- while the engine's clock is not ahead, unless ahead_until says where it was when this was called before.
-- Safe beside all verbs: it has the lock of the floors, makes whoever leads stand for election, and puts every floor to its
-- minimum, so that tickets of times that lie before the former clock are found. What was ready, waiting or leased at a time
-- to come, and retries, get the time they were to have; a lease ends after its queue's visibility timeout at the latest,
-- so a message whose consumer is still at work may be delivered twice. Messages whose delay is not known any more stay
-- scheduled until the former time of the clock; release_delayed => true makes them due now. Rows that others have locked
-- are left as they are. Call it outside of other work: a sequence that was set stays so when the rest is rolled back.
create or replace function signalbox.reset_clock(release_delayed boolean default false, ahead_until timestamptz default null)
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
  perform setval(h.floor, 0) from signalbox.head h where h.floor is not null;
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
  set due_at = least(h.due_at, v_now + q.lane_release_interval_seconds * interval '1 second')
  from signalbox.queue q
  where q.queue_id = h.queue_id
    and h.ctid = any(array(select c.ctid from signalbox.lane_hint c where c.due_at > v_now for update skip locked));
  update signalbox.consumer c
  set last_seen_at = v_now
  where c.ctid = any(array(select o.ctid from signalbox.consumer o where o.last_seen_at > v_now for update skip locked));
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
