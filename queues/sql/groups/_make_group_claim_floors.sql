-- Make the claim floors of a queue that limits or shares its groups, or did: of wake-up rows and of waiting messages.
create or replace function signalbox._make_group_claim_floors(p_queue_id integer) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.claim_floor (queue_id, kind)
  select p_queue_id, k.kind
  from (values ({floor.lane_hint}), ({floor.waiting})) k(kind)
  where not exists (select from signalbox.claim_floor h where h.queue_id = p_queue_id and h.kind = k.kind)
$$;
