-- resign_lead(token): stop leading the claim floors, so that the next leader need not wait for the term to end.
create or replace function signalbox.resign_lead(token uuid) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update signalbox.upkeep_leader l set expires_at = '-infinity' where l.token = resign_lead.token;
  return found;
end $$;
