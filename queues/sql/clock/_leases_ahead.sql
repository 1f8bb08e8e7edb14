-- Return leases that a clock ahead of the server's has prolonged, and when each should end: after the visibility
-- timeout of its queue, since the timeout that its consumer asked for is not known.
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
