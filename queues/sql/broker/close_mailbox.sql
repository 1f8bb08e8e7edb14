-- close_mailbox(name): delete a mailbox, its bindings and its messages. Returns false when there is none. Index:
-- mailbox_name_key.
create or replace function signalbox.close_mailbox(name text) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  delete from signalbox.mailbox m where m.name = close_mailbox.name;
  return found;
end $$;
