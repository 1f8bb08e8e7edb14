-- open_removal(keep_seconds): begin a removal, to which purge and delete_dead_letters move what they remove. It stays in the
-- trash for so long after the last that came; restore puts it back, empty_trash ends it. Returns its number.
create or replace function signalbox.open_removal(keep_seconds double precision) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_removal_id bigint;
begin
  if open_removal.keep_seconds is null or open_removal.keep_seconds <= 0 or open_removal.keep_seconds > 31536000 then
    perform signalbox._refuse('keep_seconds', format(
      'is %s: it must be above 0 and up to 31536000 (a year)', coalesce(open_removal.keep_seconds::text, 'null')
    ));
  end if;
  insert into signalbox.removal (keep_seconds, expires_at)
  values (open_removal.keep_seconds, clock_timestamp() + open_removal.keep_seconds * interval '1 second')
  returning removal_id into v_removal_id;
  return v_removal_id;
end $$;

-- hold_removal(removal_id, seconds): keep what a removal has for at least so long from now. False when it has nothing left.
create or replace function signalbox.hold_removal(removal_id bigint, seconds double precision) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update signalbox.removal r
  set expires_at = greatest(r.expires_at, clock_timestamp() + hold_removal.seconds * interval '1 second')
  where r.removal_id = hold_removal.removal_id and r.trashed > r.restored + r.emptied;
  return found;
end $$;

create or replace function signalbox._check_removal(p_removal_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from signalbox.removal r where r.removal_id = p_removal_id) then
    perform signalbox._refuse('removal_id', format('is %s: there is no such removal', p_removal_id));
  end if;
end $$;

-- So many more are in the trash; all of them stay for the whole time from now on.
create or replace function signalbox._count_trashed(p_removal_id bigint, p_messages bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  update signalbox.removal r
  set trashed = r.trashed + p_messages, expires_at = clock_timestamp() + r.keep_seconds * interval '1 second'
  where r.removal_id = p_removal_id
$$;
