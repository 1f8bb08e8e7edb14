-- Set the flags of queues whose placement changed: the trigger computes them. Senders see the flags from their next
-- statement on. Each group with waiting messages gets a new wake-up row: it may no longer wait for another cell, and a
-- promoter that saw it wait may be deleting its earlier rows.
create or replace function signalbox._note_placement(p_queues text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update signalbox.queue q set admission_flags = q.admission_flags where q.name = any(p_queues);
  delete from signalbox.fleet_released r
  where r.queue = any(p_queues) and not exists (
    select from signalbox.fleet_placement p where p.queue = r.queue and p.state = 'draining'
  );
  perform signalbox._hint_lanes(q.queue_id, true)
  from signalbox.queue q
  where q.name = any(p_queues) and q.mode = 'fifo';
end $$;
