-- recount(queue_id): count a queue's messages by state, row by row. For tests and checks: it scans the queue.
create or replace function signalbox.recount(queue_id integer)
returns table (ready bigint, scheduled bigint, leased bigint, dead bigint, held bigint, waiting bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select
    (select count(*) from signalbox.ready r where r.queue_id = recount.queue_id),
    (select count(*) from signalbox.scheduled s where s.queue_id = recount.queue_id),
    (select count(*) from signalbox.lease l where l.queue_id = recount.queue_id),
    (select count(*) from signalbox.dead_letter d where d.source_queue_id = recount.queue_id),
    (select count(*) from signalbox.dead_letter d where d.queue_id = recount.queue_id),
    (select count(*) from signalbox.waiting w where w.queue_id = recount.queue_id)
$$;
