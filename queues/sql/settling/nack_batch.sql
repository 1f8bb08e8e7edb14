-- nack_batch(receipt_handles, ...): nack many messages in one statement. Each option is null, or an array with one
-- entry for each handle; a reason that is null is runtime_error. Returns every handle in the order given with 'retry',
-- 'dead', or null where the lease is no longer held. When an argument is wrong nothing is done. Locks the leases in
-- order of message id, as ack does. Index: lease_pkey.
create or replace function signalbox.nack_batch(
  receipt_handles text[],
  delay_seconds double precision[] default null,
  error_classes text[] default null,
  errors text[] default null,
  details text[] default null,
  reasons text[] default null,
  states jsonb[] default null
) returns table (receipt_handle text, outcome text)
language plpgsql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_count integer := coalesce(cardinality(nack_batch.receipt_handles), 0);
  v_outcomes text[] := array_fill(null::text, array[v_count]);
  v_place integer;
begin
  nack_batch.receipt_handles := signalbox._as_list('receipt_handles', nack_batch.receipt_handles);
  nack_batch.delay_seconds := signalbox._as_list('delay_seconds', nack_batch.delay_seconds);
  nack_batch.error_classes := signalbox._as_list('error_classes', nack_batch.error_classes);
  nack_batch.errors := signalbox._as_list('errors', nack_batch.errors);
  nack_batch.details := signalbox._as_list('details', nack_batch.details);
  nack_batch.reasons := signalbox._as_list('reasons', nack_batch.reasons);
  nack_batch.states := signalbox._as_list('states', nack_batch.states);
  perform signalbox._check_handles(nack_batch.receipt_handles);
  perform signalbox._refuse(o.name, format('has %s entries for %s receipt handles', o.entries, v_count))
  from (values
    ('delay_seconds', cardinality(nack_batch.delay_seconds)),
    ('error_classes', cardinality(nack_batch.error_classes)),
    ('errors', cardinality(nack_batch.errors)),
    ('details', cardinality(nack_batch.details)),
    ('reasons', cardinality(nack_batch.reasons)),
    ('states', cardinality(nack_batch.states))
  ) o(name, entries)
  where o.entries <> v_count;
  for v_place in
    select h.place
    from unnest(nack_batch.receipt_handles) with ordinality h(handle, place)
    order by split_part(h.handle, '.', 2)::bigint, h.place
  loop
    v_outcomes[v_place] := signalbox.nack(
      nack_batch.receipt_handles[v_place],
      nack_batch.delay_seconds[v_place],
      nack_batch.error_classes[v_place],
      nack_batch.errors[v_place],
      nack_batch.details[v_place],
      coalesce(nack_batch.reasons[v_place], 'runtime_error'),
      nack_batch.states[v_place]
    );
  end loop;
  return query
  select h.handle, h.outcome
  from unnest(nack_batch.receipt_handles, v_outcomes) with ordinality h(handle, outcome, place)
  order by h.place;
end $$;
