-- Make the partition of one period, built separately and attached. Rows that came early into the default partition keep
-- it there.
create or replace function signalbox._ensure_period(p_parent text, p_from timestamptz, p_to timestamptz, p_format text)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := p_parent || '_' || to_char(p_from at time zone 'UTC', p_format);
begin
  if to_regclass('signalbox.' || v_name) is not null or to_regclass('signalbox.' || p_parent) is null then
    return '{}'; -- it is there, or its table is gone because migrations were reversed
  end if;
  execute format('create table signalbox.%I (like signalbox.%I including defaults)', v_name, p_parent);
  perform signalbox._identify_partition(v_name, p_parent);
  execute format(
    'alter table signalbox.%I attach partition signalbox.%I for values from (%L) to (%L)', p_parent, v_name, p_from,
    p_to
  );
  return array[v_name];
exception
  when check_violation or lock_not_available then
    return '{}';
end $$;
