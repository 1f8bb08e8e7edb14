-- schedule_upkeep(): let the extension pg_cron call signalbox.upkeep() in this database, so that housekeeping needs no
-- process of Signalbox: from pg_cron 1.5 on one step every second, before that every step once a minute. Returns the
-- names of the jobs. Scheduling again replaces them. An error says what is missing when the extension is not installed.
create or replace function signalbox.schedule_upkeep() returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer[] := (
    select regexp_match(e.extversion, '^(\d+)\.(\d+)')::integer[] from pg_extension e where e.extname = 'pg_cron'
  );
  v_step text;
  v_jobs text[] := '{}';
begin
  perform signalbox._require_cron();
  perform signalbox.unschedule_upkeep();
  if v_version >= array[1, 5] then
    execute 'select cron.schedule($1, $2, $3)' using 'signalbox upkeep', '1 seconds', 'select signalbox.upkeep()';
    return array['signalbox upkeep'];
  end if;
  foreach v_step in array signalbox.upkeep_steps() loop
    execute 'select cron.schedule($1, $2, $3)'
    using 'signalbox ' || v_step, '* * * * *', format('select signalbox.upkeep(%L)', v_step);
    v_jobs := v_jobs || ('signalbox ' || v_step);
  end loop;
  return v_jobs;
end $$;
