-- Every queue that exists, or existed within a year: history and the archive also name deleted queues. Read it by
-- queue_id.
create or replace view signalbox._known_queue as
  select q.queue_id, q.name, q.tenant_id from signalbox.queue q
  union all
  select f.queue_id, f.name, f.tenant_id from signalbox.former_queue f;
