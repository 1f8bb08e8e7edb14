-- Set the flags of queues whose placement changed: the trigger computes them. From the next statement of any sender on,
-- they are what counts. Groups that waited for another cell are looked at again:
-- a new wake-up row for each, since a promoter that saw them wait may be deleting the others.
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
