-- advance_floor(token, mark, queue_ids): raise the claim floors of these queues. Every writer noted at the mark has
-- ended, so no ticket from before the mark can still appear: with a new snapshot each floor becomes its first live
-- ticket or the mark, whichever is earlier. The caller must have called ticket_writers() in an earlier statement, and
-- seen none of those writers. Floors only rise here. Returns how many rose, or null when the caller is not the leader.
-- Indexes: ready_claim, lease_deadline, scheduled_due, lane_hint_due, waiting_age.
create or replace function signalbox.advance_floor(token uuid, mark bigint, queue_ids integer[]) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_head record;
  v_old bigint;
  v_new bigint;
  v_risen integer := 0;
  v_from timestamptz;
  v_first timestamptz;
  -- No floor rises above the mark: a longer search would read all leases that ended before their deadline.
  v_to timestamptz := timestamptz 'epoch' + advance_floor.mark * interval '1 microsecond';
begin
  -- A mark above the clock was taken before reset_clock set the clock back: tickets with earlier times may still come.
  if not signalbox._leads(advance_floor.token)
    or advance_floor.mark > nullif(pg_sequence_last_value('signalbox.clock'::regclass), 0) -- 0: it was never moved
  then
    return null;
  end if;
  for v_head in
    select h.queue_id, h.kind, h.floor
    from signalbox.claim_floor h
    where h.queue_id = any(advance_floor.queue_ids) and h.floor is not null
  loop
    v_old := coalesce(pg_sequence_last_value(v_head.floor), 0);
    v_from := timestamptz 'epoch' + v_old * interval '1 microsecond';
    if v_head.kind = {floor.lease} then
      select l.deadline into v_first
      from signalbox.lease l
      where l.queue_id = v_head.queue_id and l.deadline >= v_from and l.deadline <= v_to
      order by l.deadline
      limit 1;
    elsif v_head.kind = {floor.scheduled} then
      select s.due_at into v_first
      from signalbox.scheduled s
      where s.queue_id = v_head.queue_id and s.due_at >= v_from and s.due_at <= v_to
      order by s.due_at, s.message_id
      limit 1;
    elsif v_head.kind = {floor.lane_hint} then
      select n.due_at into v_first
      from signalbox.lane_hint n
      where n.queue_id = v_head.queue_id and n.due_at >= v_from and n.due_at <= v_to
      order by n.due_at
      limit 1;
    elsif v_head.kind = {floor.waiting} then
      select w.waiting_since into v_first
      from signalbox.waiting w
      where w.queue_id = v_head.queue_id and w.waiting_since >= v_from and w.waiting_since <= v_to
      order by w.waiting_since, w.message_id
      limit 1;
    else
      select r.ready_at into v_first
      from signalbox.ready r
      where r.queue_id = v_head.queue_id and r.priority = v_head.kind and r.ready_at >= v_from and r.ready_at <= v_to
      order by r.ready_at, r.message_id
      limit 1;
    end if;
    v_new := least(coalesce((extract(epoch from v_first) * 1000000)::bigint, advance_floor.mark), advance_floor.mark);
    if v_new > v_old then
      perform setval(v_head.floor, v_new);
      v_risen := v_risen + 1;
    end if;
  end loop;
  -- Transactions that drew a place up to the mark have ended: the start of each message group may be noted.
  if pg_sequence_last_value('signalbox.place_mark'::regclass) > pg_sequence_last_value(
    'signalbox.place_horizon'::regclass
  ) then
    perform setval('signalbox.place_horizon', pg_sequence_last_value('signalbox.place_mark'::regclass));
  end if;
  return v_risen;
end $$;
