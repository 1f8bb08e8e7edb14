-- Release the deduplication ids of a queue whose dedup_scope has changed. An id that an ack is about to release is
-- skipped.
create or replace function signalbox._forget_keys(p_queue_id integer) returns void
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.dedup_in_flight k
  where k.ctid = any(array(
    select h.ctid from signalbox.dedup_in_flight h where h.queue_id = p_queue_id for update skip locked
  ));
  delete from signalbox.dedup d where d.queue_id = p_queue_id;
end $$;
