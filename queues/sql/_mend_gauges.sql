-- Gauges of which a register cannot be read are made anew, and evaluated. A promoted standby may have such: a sequence that
-- is not logged comes to it as its first page, which PostgreSQL takes from the disk when it is promoted, and writes there
-- only with the restartpoint before: of limits that are younger the registers are empty, and every send would fail.
create or replace function signalbox._mend_gauges() returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gauge signalbox.gauge;
  v_register regclass;
  v_mended integer := 0;
begin
  for v_gauge in select g.* from signalbox.gauge g order by g.gauge_id loop
    continue when signalbox._are_readable(signalbox._registers(v_gauge));
    delete from signalbox.gauge g where g.gauge_id = v_gauge.gauge_id;
    foreach v_register in array signalbox._registers(v_gauge) loop
      execute format('drop sequence %s', v_register);
    end loop;
    perform signalbox._ensure_gauge(v_gauge.queue_id, v_gauge.tenant_id);
    v_mended := v_mended + 1;
  end loop;
  return v_mended;
end $$;

-- Those that are not logged.
create or replace function signalbox._registers(p_gauge signalbox.gauge) returns regclass[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select array[
    p_gauge.next_free, p_gauge.last_xid, p_gauge.admitted, p_gauge.base, p_gauge.bytes_held, p_gauge.oldest, p_gauge.evaluated,
    p_gauge.lost, p_gauge.mark_admitted, p_gauge.mark_xid
  ]
$$;

create or replace function signalbox._are_readable(p_registers regclass[]) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_sequence_last_value(r) from unnest(p_registers) r;
  return true;
exception
  when internal_error or data_corrupted or io_error or undefined_file then
    return false;
end $$;
