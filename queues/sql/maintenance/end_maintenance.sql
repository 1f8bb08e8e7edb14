-- end_maintenance(): end maintenance; every queue works as it did before. Returns false when maintenance was off.
create or replace function signalbox.end_maintenance() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_was_on boolean;
begin
  perform signalbox._lock_queues();
  delete from signalbox.maintenance;
  v_was_on := found;
  update signalbox.queue q set admission_flags = q.admission_flags
    where q.admission_flags & ({flag.holds_claims} | {flag.refuses_sends}) <> 0;
  update signalbox.stream s set admission_flags = s.admission_flags
    where s.admission_flags & ({flag.holds_claims} | {flag.refuses_sends}) <> 0;
  return v_was_on;
end $$;
