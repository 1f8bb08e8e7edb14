-- Note that a queue has messages of this priority, so that receive compares it with the others. Inserts only, and
-- without a unique index, so that two first senders never wait for each other; upkeep removes duplicates. Each priority
-- costs every claim of the queue a probe, so a queue uses at most 1000. Index: claim_floor_queue.
create or replace function signalbox._use_priority(p_queue_id integer, p_priority smallint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from signalbox.claim_floor h where h.queue_id = p_queue_id and h.kind = p_priority) then
    return;
  end if;
  if 1000 <= (
    select count(distinct h.kind) from signalbox.claim_floor h
    where h.queue_id = p_queue_id and h.kind >= {priority.lowest}
  ) then
    perform signalbox._refuse(
      'priority', format('is %s: the queue has used 1000 others, which is the most; use one of them', p_priority)
    );
  end if;
  insert into signalbox.claim_floor (queue_id, kind) values (p_queue_id, p_priority);
end $$;
