-- Whether no grant can limit a role: it is a superuser or a member of the owner's role; and the predefined roles it is
-- a member of that read or write beyond any grant.
select r.rolsuper or pg_has_role(r.oid, n.nspowner, 'member'), array(
  select g.rolname::text
  from pg_roles g
  where g.rolname = any(array[
      'pg_read_all_data', 'pg_write_all_data', 'pg_maintain', 'pg_read_server_files', 'pg_write_server_files',
      'pg_execute_server_program'
    ]) and pg_has_role(r.oid, g.oid, 'member')
  order by g.rolname
)
from pg_roles r, pg_namespace n
where r.rolname = %s and n.nspname = 'signalbox'
