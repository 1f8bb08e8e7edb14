-- detach_archive(queue_name): do nothing: what ended is in the history, and in no table of an extension.
create or replace function pgmq.detach_archive(queue_name text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.validate_queue_name(detach_archive.queue_name)
$$;
