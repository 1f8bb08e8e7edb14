-- Note that a queue has messages of this priority, so that receive compares it with the others. Inserts only, and
-- without a unique index, so that two first senders never wait for each other; upkeep removes duplicates.
create or replace function signalbox._use_priority(p_queue_id integer, p_priority smallint) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.claim_floor (queue_id, kind)
  select p_queue_id, p_priority
  where not exists (select from signalbox.claim_floor h where h.queue_id = p_queue_id and h.kind = p_priority)
$$;
