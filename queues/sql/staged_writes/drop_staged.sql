-- drop_staged(stages): drop staged messages instead of sending them. Returns how many. Index: staged_write_pkey.
create or replace function signalbox.drop_staged(stages uuid[]) returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  with gone as (
    delete from signalbox.staged_write w where w.stage = any(drop_staged.stages)
      returning cardinality(w.payloads) as messages
  )
  select coalesce(sum(g.messages), 0)::bigint from gone g
$$;
