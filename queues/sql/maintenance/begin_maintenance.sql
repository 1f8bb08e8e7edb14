-- begin_maintenance(actor, reason, until, holds_claims, refuses_sends): begin maintenance when this transaction
-- commits, or change its texts and effects when it is on. Locks the table of queues against changes.
create or replace function signalbox.begin_maintenance(
  p_actor text, p_reason text, p_until timestamptz, p_holds_claims boolean, p_refuses_sends boolean
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._lock_queues();
  insert into signalbox.maintenance (maintenance_id, started_at, started_by, reason, until, holds_claims, refuses_sends)
  values (1, clock_timestamp(), p_actor, p_reason, p_until, p_holds_claims, p_refuses_sends)
  on conflict (maintenance_id) do update
  set started_by = excluded.started_by,
    reason = excluded.reason,
    until = excluded.until,
    holds_claims = excluded.holds_claims,
    refuses_sends = excluded.refuses_sends;
  update signalbox.queue q set admission_flags = q.admission_flags; -- the trigger computes the flags
  update signalbox.stream s set admission_flags = s.admission_flags;
end $$;
