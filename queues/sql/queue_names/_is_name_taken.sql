-- Return whether a queue has this name, or it is an old name that is not free yet.
create or replace function signalbox._is_name_taken(p_name text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from signalbox.queue q where q.name = p_name)
    or exists (select from signalbox.queue_alias a where a.name = p_name)
$$;
