-- log_warnings(): write warnings to the server's log, for operators who watch only that: leases that expired, messages
-- that died, and messages that were not received for longer than the queue's alert_oldest_age_seconds. One line of
-- level WARNING for each queue and kind, at most every warn_every_seconds of the queue (0: none); the next line counts
-- from where the last one stopped. Once an hour a line says that no process moves the claim floors, where none does:
-- calls of upkeep() keep the system alive, but not its speed under an old snapshot. Returns how many lines. Reads
-- counters and the starts of indexes, never messages.
create or replace function signalbox.log_warnings() returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_trouble record;
  v_lines integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.log_warnings'), 0) then
    return null;
  end if;
  for v_trouble in
    select q.queue_id, q.name, t.kind, t.counted, t.counted - coalesce(w.counted, 0) as more, t.seconds,
      q.alert_oldest_age_seconds, date_part('epoch', v_now - greatest(w.logged_at, q.created_at)) as since
    from signalbox.queue q
    join signalbox.queue_totals() n on n.queue_id = q.queue_id
    cross join lateral (
      select case when not q.paused and q.admission_flags & {flag.holds_claims} = 0
        then signalbox.oldest_visible_at(q.queue_id) end as at
    ) oldest
    cross join lateral (
      values
        ('expired', signalbox.event_total(n.totals, 'lease_expired', 'dead_lock_expired'), null::double precision),
        ('dead', signalbox.event_total(n.totals, 'dead_rejected', 'dead_runtime_error', 'dead_lock_expired'), null),
        ('unclaimed', 0, date_part('epoch', v_now - oldest.at))
    ) t(kind, counted, seconds)
    left join signalbox.logged_warning w on w.queue_id = q.queue_id and w.kind = t.kind
    where q.warn_every_seconds > 0
      and (w.logged_at is null or w.logged_at <= v_now - q.warn_every_seconds * interval '1 second')
      and (t.counted > coalesce(w.counted, 0) or t.seconds > q.alert_oldest_age_seconds)
    order by q.name, t.kind
  loop
    case v_trouble.kind
      when 'expired' then
        raise warning
          'signalbox: queue %: % leases expired in the last % s, their consumers neither finished nor extended them',
          v_trouble.name, v_trouble.more, ceil(v_trouble.since);
      when 'dead' then
        raise warning 'signalbox: queue %: % messages died in the last % s', v_trouble.name, v_trouble.more,
          ceil(v_trouble.since);
      else
        raise warning 'signalbox: queue %: a message has not been claimed for % s, % s are allowed',
          v_trouble.name, floor(v_trouble.seconds), v_trouble.alert_oldest_age_seconds;
    end case;
    insert into signalbox.logged_warning (queue_id, kind, logged_at, counted)
    values (v_trouble.queue_id, v_trouble.kind, v_now, v_trouble.counted)
    on conflict (queue_id, kind) do update set logged_at = excluded.logged_at, counted = excluded.counted;
    v_lines := v_lines + 1;
  end loop;
  if not signalbox._floors_are_kept() then
    insert into signalbox.logged_warning as w (queue_id, kind, logged_at, counted)
    values (0, 'floors', v_now, 0)
    on conflict (queue_id, kind) do update
    set logged_at = excluded.logged_at
    where w.logged_at <= v_now - interval '1 hour';
    if found then
      raise warning 'signalbox: no process moves the claim floors: claims get slower for as long as a transaction holds'
        ' an old snapshot; run manage.py upkeep';
      v_lines := v_lines + 1;
    end if;
  end if;
  return v_lines;
end $$;
