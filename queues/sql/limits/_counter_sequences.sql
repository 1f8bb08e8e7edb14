-- The sequences of an admission counter that are not logged.
create or replace function signalbox._counter_sequences(p_counter signalbox.admission_counter) returns regclass[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select array[
    p_counter.next_free, p_counter.last_xid, p_counter.admitted, p_counter.base, p_counter.bytes_held, p_counter.oldest,
    p_counter.evaluated,
    p_counter.lost, p_counter.mark_admitted, p_counter.mark_xid
  ]
$$;
