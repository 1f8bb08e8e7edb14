-- The bytes of the largest body that a queue takes, without the quotes around a string; null: no limit of its own. A
-- queue whose limit of payloads (p_limit) is below the log's own takes no large bodies. Indexes: queue_pkey.
create or replace function signalbox._largest_body(p_queue_id integer, p_limit bigint) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_limit < 262144 then p_limit else nullif(q.max_large_body_bytes, 0) end
  from signalbox.queue q
  where q.queue_id = p_queue_id
$$;
