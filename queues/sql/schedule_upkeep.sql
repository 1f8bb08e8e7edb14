-- schedule_upkeep(): have the extension pg_cron call signalbox.upkeep() in this database, so that housekeeping needs no
-- process of ours: from pg_cron 1.5 on one step every second, before that every step once a minute. Returns the names of
-- the jobs. Scheduling again replaces them. An error says what is missing when the extension is not there.
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

-- unschedule_upkeep(): take back what schedule_upkeep arranged; returns how many jobs there were.
create or replace function signalbox.unschedule_upkeep() returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs integer;
begin
  perform signalbox._require_cron();
  execute 'select count(cron.unschedule(j.jobname))::integer from cron.job j'
    ' where j.database = current_database() and (j.jobname = $1 or j.jobname = any($2))'
  into v_jobs
  using 'signalbox upkeep', array(select 'signalbox ' || s from unnest(signalbox.upkeep_steps()) s);
  return v_jobs;
end $$;

create or replace function signalbox._require_cron() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regprocedure('cron.schedule(text,text,text)') is null then
    raise exception using
      errcode = 'SB400',
      message = format('pg_cron is not installed in the database %s', quote_ident(current_database())),
      hint = 'Install its package, add pg_cron to shared_preload_libraries, set cron.database_name, restart, and create extension pg_cron.'
        ' Or run manage.py upkeep, which does more.',
      column = 'pg_cron';
  end if;
end $$;
