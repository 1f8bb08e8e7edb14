-- Give a table or sequence that was just made the grants of another of its kind, so that roles which `manage.py
-- grants` knows can use what is made later. Runs as the owner of the new one, which the caller is.
create or replace function signalbox._copy_grants(p_made regclass, p_like regclass) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_grant record;
begin
  for v_grant in
    select a.privilege_type, a.grantee::regrole as grantee, case c.relkind when 'S' then 'sequence'
      else 'table' end as kind
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = p_like and a.grantee not in (0, c.relowner)
  loop
    execute format('grant %s on %s %s to %s', v_grant.privilege_type, v_grant.kind, p_made, v_grant.grantee);
  end loop;
end $$;
