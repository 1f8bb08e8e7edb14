-- The current name of a queue that was renamed, for verbs that found no queue of a name; verbs with the right name do
-- nothing more. Notes that the old name is still in use. Refuses a name that no queue had, and, with the new name, a
-- name whose grace is over. Index: queue_alias_pkey.
create or replace function signalbox._renamed(p_queue text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_alias record;
begin
  select q.name, a.works_until > clock_timestamp() as works, a.last_used
  into v_alias
  from signalbox.queue_alias a
  join signalbox.queue q on q.queue_id = a.queue_id
  where a.name = p_queue;
  if not found or not v_alias.works then
    perform signalbox._refuse_unknown_queue(p_queue);
  end if;
  perform setval(v_alias.last_used, extract(epoch from clock_timestamp())::bigint);
  return v_alias.name;
end $$;
