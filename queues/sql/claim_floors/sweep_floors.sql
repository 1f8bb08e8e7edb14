-- sweep_floors(token): look below every claim floor for a live ticket, of which there must be none. Where it finds one
-- it writes a warning to the server's log, sets that floor to its minimum so that the ticket is delivered, and counts
-- it.
create or replace function signalbox.sweep_floors(token uuid) returns integer
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_head record;
  v_below boolean;
  v_found integer := 0;
  v_distrust boolean := false;
begin
  if not signalbox._leads(sweep_floors.token) then
    return null;
  end if;
  for v_head in
    select h.queue_id, h.kind, h.floor,
      timestamptz 'epoch' + pg_sequence_last_value(h.floor) * interval '1 microsecond' as at
    from signalbox.claim_floor h
    where h.floor is not null
  loop
    v_below := case
      when v_head.kind = {floor.lease} then exists (
        select from signalbox.lease l where l.queue_id = v_head.queue_id and l.deadline < v_head.at)
      when v_head.kind = {floor.scheduled} then exists (
        select from signalbox.scheduled s where s.queue_id = v_head.queue_id and s.due_at < v_head.at)
      when v_head.kind = {floor.lane_hint} then exists (
        select from signalbox.lane_hint n where n.queue_id = v_head.queue_id and n.due_at < v_head.at)
      when v_head.kind = {floor.waiting} then exists (
        select from signalbox.waiting w where w.queue_id = v_head.queue_id and w.waiting_since < v_head.at)
      else exists (
        select from signalbox.ready r
        where r.queue_id = v_head.queue_id and r.priority = v_head.kind and r.ready_at < v_head.at)
    end;
    if v_below then
      raise warning 'signalbox: a ticket of queue % lay below its claim floor (head %); the floor is reset',
        v_head.queue_id, v_head.kind;
      perform setval(v_head.floor, 0);
      v_found := v_found + 1;
    end if;
  end loop;
  for v_head in
    select f.queue_id, f.lane
    from signalbox.lane_floor f
    where f.epoch = pg_sequence_last_value('signalbox.lane_epoch'::regclass)
      and (
        exists (select from signalbox.waiting w where w.queue_id = f.queue_id and w.lane = f.lane and w.place < f.place)
        or exists (
          select from signalbox.lane_slot s
          where s.queue_id = f.queue_id and s.lane = f.lane and s.slot <= f.slot and s.message_id <> all(f.holders)
        )
      )
  loop
    raise warning 'signalbox: a note on a message group of queue % was wrong; all message groups are read again',
      v_head.queue_id;
    v_found := v_found + 1;
    v_distrust := true;
  end loop;
  if v_distrust then
    perform signalbox._distrust_lanes();
  end if;
  return v_found;
end $$;
