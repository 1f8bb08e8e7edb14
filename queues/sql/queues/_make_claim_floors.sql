-- Make the claim floors that every claim of a queue needs: of priority 0, of leases and of scheduled messages.
create or replace function signalbox._make_claim_floors(p_queue_id integer) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.claim_floor (queue_id, kind)
  select p_queue_id, k.kind
  from (values (0::smallint), ({floor.lease}), ({floor.scheduled})) k(kind)
  where not exists (select from signalbox.claim_floor h where h.queue_id = p_queue_id and h.kind = k.kind)
$$;
