-- Set the flags of queues whose placement changed: the trigger computes them. From the next statement of any sender on,
-- they are what counts.
create or replace function signalbox._note_placement(p_queues text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update signalbox.queue q set admission_flags = q.admission_flags where q.name = any(p_queues);
end $$;
