-- advance_floor(token, mark, queue_ids): everyone noted at the mark has gone, so no ticket from before it can still
-- appear: with a fresh snapshot, each head's floor becomes its first live ticket or the mark, whichever is earlier.
-- The caller must have seen ticket_writers() without them in an earlier statement. Floors only rise here. Returns how
-- many rose, null when not the leader. Indexes: ready_claim, lease_deadline, scheduled_due, lane_hint_due, waiting_age.
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
  -- No floor rises beyond the mark: looking further would be a walk over all that was consumed ahead of its deadline.
  v_to timestamptz := timestamptz 'epoch' + advance_floor.mark * interval '1 microsecond';
begin
  -- A mark beyond the clock is from before that was put back (reset_clock): tickets of earlier times come again.
  if not signalbox._leads(advance_floor.token)
    or advance_floor.mark > nullif(pg_sequence_last_value('signalbox.clock'::regclass), 0) -- 0: it was never moved
  then
    return null;
  end if;
  for v_head in
    select h.queue_id, h.kind, h.floor
    from signalbox.head h
    where h.queue_id = any(advance_floor.queue_ids) and h.floor is not null
  loop
    v_old := coalesce(pg_sequence_last_value(v_head.floor), 0);
    v_from := timestamptz 'epoch' + v_old * interval '1 microsecond';
    if v_head.kind = 10 then
      select l.deadline into v_first
      from signalbox.lease l
      where l.queue_id = v_head.queue_id and l.deadline >= v_from and l.deadline <= v_to
      order by l.deadline
      limit 1;
    elsif v_head.kind = 11 then
      select s.due_at into v_first
      from signalbox.scheduled s
      where s.queue_id = v_head.queue_id and s.due_at >= v_from and s.due_at <= v_to
      order by s.due_at, s.message_id
      limit 1;
    elsif v_head.kind = 12 then
      select n.due_at into v_first
      from signalbox.lane_hint n
      where n.queue_id = v_head.queue_id and n.due_at >= v_from and n.due_at <= v_to
      order by n.due_at
      limit 1;
    elsif v_head.kind = 13 then
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
  -- Nobody who drew a place up to the mark's is still at work: of each lane it may be known where it begins.
  if pg_sequence_last_value('signalbox.place_mark'::regclass) > pg_sequence_last_value('signalbox.place_horizon'::regclass) then
    perform setval('signalbox.place_horizon', pg_sequence_last_value('signalbox.place_mark'::regclass));
  end if;
  return v_risen;
end $$;

-- lower_floors(token, bound): a writer that was passed because it stayed open too long has ended; what it wrote lies
-- above the bound. Every floor above goes back there once; the next advance finds its tickets.
create or replace function signalbox.lower_floors(token uuid, bound bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if not signalbox._leads(lower_floors.token) then
    return null;
  end if;
  perform setval(h.floor, greatest(lower_floors.bound, 0))
  from signalbox.head h
  where h.floor is not null and pg_sequence_last_value(h.floor) > lower_floors.bound;
  perform signalbox._distrust_lanes();
  return true;
end $$;

-- ensure_floors(token, queue_ids): give every head of these queues a sequence to keep its floor in, and remove the
-- duplicates that first senders of a priority may have left. Waits for nobody: heads that another transaction holds, since it
-- deletes their queue, are left for the next call, and so is a head whose floor cannot be made.
create or replace function signalbox.ensure_floors(token uuid, queue_ids integer[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_head record;
  v_made integer := 0;
begin
  if not signalbox._leads(ensure_floors.token) then
    return null;
  end if;
  delete from signalbox.head h
  using (
    select d.ctid as tid, row_number() over (partition by d.queue_id, d.kind order by d.floor nulls last, d.ctid) as n
    from signalbox.head d
    where d.queue_id = any(ensure_floors.queue_ids)
  ) twice
  where h.ctid = any(array(
    select d.ctid from signalbox.head d where d.ctid = twice.tid and twice.n > 1 for update skip locked
  ));
  for v_head in
    select h.queue_id, h.kind
    from signalbox.head h
    where h.queue_id = any(ensure_floors.queue_ids) and h.floor is null
    order by h.queue_id, h.kind
    for update skip locked
  loop
    begin
      execute format('create sequence if not exists signalbox.floor_%s_%s minvalue 0', v_head.queue_id, v_head.kind);
      -- Before PostgreSQL 18 reading another role's sequence is an error, which would stop that role's claims.
      execute format('grant select on sequence signalbox.floor_%s_%s to public', v_head.queue_id, v_head.kind);
      perform setval(format('signalbox.floor_%s_%s', v_head.queue_id, v_head.kind), 0);
      update signalbox.head h
      set floor = format('signalbox.floor_%s_%s', v_head.queue_id, v_head.kind)::regclass
      where h.queue_id = v_head.queue_id and h.kind = v_head.kind;
      v_made := v_made + 1;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('ensure_floors', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_made;
end $$;
