-- Copy the masking rules of one name to another name, and keep those that the other has. Returns the number of rules.
create or replace function signalbox._copy_masks(p_name text, p_new_name text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.masking_rule (part, path, queue_name, created_by)
  select r.part, r.path, p_new_name, r.created_by
  from signalbox.masking_rule r
  where r.queue_name = p_name
  on conflict do nothing;
  return (select count(*) from signalbox.masking_rule r where r.queue_name = p_name);
end $$;
