-- The time at which a result expires that is kept for p_keep_seconds; infinity for null and 0.
create or replace function signalbox._result_end(p_keep_seconds double precision) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_keep_seconds < 0 or p_keep_seconds > 315360000 or p_keep_seconds = 'nan' then
    perform signalbox._refuse('keep_seconds', format('is %s: it must be from 0 to 315360000', p_keep_seconds));
  end if;
  if coalesce(p_keep_seconds, 0) = 0 then
    return 'infinity';
  end if;
  return clock_timestamp() + p_keep_seconds * interval '1 second';
end $$;
