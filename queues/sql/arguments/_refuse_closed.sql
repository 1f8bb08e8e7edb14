-- Raise the refusal of a closed queue (SB423), or of maintenance that refuses sends (SB503).
create or replace function signalbox._refuse_closed(p_queue text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select
    from signalbox.queue q
    where q.name = p_queue and q.admission_flags & {flag.refuses_sends} > 0 and not q.closed
  ) then
    perform signalbox._refuse_in_maintenance();
  end if;
  perform nextval(r.counter)
  from signalbox.queue q
  join signalbox.refusal r on r.queue_id = q.queue_id and r.reason = 'closed'
  where q.name = p_queue;
  raise exception using
    errcode = 'SB423',
    message = format('queue %s is closed: it accepts no messages', quote_literal(p_queue)),
    column = 'queue';
end $$;
