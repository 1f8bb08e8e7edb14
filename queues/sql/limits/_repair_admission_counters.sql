-- Create and evaluate again admission counters with a sequence that cannot be read. A promoted standby may have them:
-- it gets an unlogged sequence only as its first page, which PostgreSQL reads from disk at the promotion and which only
-- an earlier restartpoint has written. Sequences of younger limits are empty then, and every send would fail.
create or replace function signalbox._repair_admission_counters() returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_counter signalbox.admission_counter;
  v_register regclass;
  v_mended integer := 0;
begin
  for v_counter in select g.* from signalbox.admission_counter g order by g.counter_id loop
    continue when signalbox._are_readable(signalbox._counter_sequences(v_counter));
    delete from signalbox.admission_counter g where g.counter_id = v_counter.counter_id;
    foreach v_register in array signalbox._counter_sequences(v_counter) loop
      execute format('drop sequence %s', v_register);
    end loop;
    perform signalbox._ensure_admission_counter(v_counter.queue_id, v_counter.tenant_id);
    v_mended := v_mended + 1;
  end loop;
  return v_mended;
end $$;
