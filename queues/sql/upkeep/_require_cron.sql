-- Refuse to go on where the extension pg_cron is not installed.
create or replace function signalbox._require_cron() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if to_regprocedure('cron.schedule(text,text,text)') is null then
    raise exception using
      errcode = 'SB400',
      message = format('pg_cron is not installed in the database %s', quote_ident(current_database())),
      hint = 'Install its package, add pg_cron to shared_preload_libraries, set cron.database_name, restart,'
        ' and create extension pg_cron.'
        ' Or run manage.py upkeep, which does more.',
      column = 'pg_cron';
  end if;
end $$;
