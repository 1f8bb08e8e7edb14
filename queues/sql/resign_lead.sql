-- resign_lead(token): the leader of the claim floors stops; the next one need not wait for its term to end.
create or replace function signalbox.resign_lead(token uuid) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update signalbox.upkeep_leader l set expires_at = '-infinity' where l.token = resign_lead.token;
  return found;
end $$;
