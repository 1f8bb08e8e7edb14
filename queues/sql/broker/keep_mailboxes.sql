-- keep_mailboxes(names): report that the owner of these mailboxes is alive. Returns the names of mailboxes that no
-- longer exist and must be opened and bound again. Locks the mailboxes in the order of their names. Index:
-- mailbox_name_key.
create or replace function signalbox.keep_mailboxes(names text[]) returns setof text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_kept text[];
begin
  with mine as materialized (
    select m.mailbox_id
    from signalbox.mailbox m
    where m.name = any(keep_mailboxes.names)
    order by m.name
    for no key update
  ), kept as (
    update signalbox.mailbox m
    set expires_at = clock_timestamp() + m.keep_seconds * interval '1 second'
    from mine
    where m.mailbox_id = mine.mailbox_id
    returning m.name
  )
  select coalesce(array_agg(k.name), '{}') into v_kept from kept k;
  return query select n from unnest(keep_mailboxes.names) n where n <> all(v_kept);
end $$;
