-- unschedule_upkeep(): remove the jobs of schedule_upkeep. Returns how many there were.
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
