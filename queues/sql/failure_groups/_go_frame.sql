-- The topmost frame of the application's own code in a stack of Go.
create or replace function signalbox._go_frame(p_stack text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select concat(f.found[1], ' (', signalbox._file_name(f.found[2]), ')')
    from regexp_matches(
      p_stack, '^([^ \t\n(][^\n]*)\([^\n]*\)\n\t([^\n]+\.go):\d+', 'gn'
    ) with ordinality f(found, place)
    where f.found[2] !~ '/usr/(?:local|lib)/go[^/]*/src/|/libexec/src/|/toolcache/go/|/pkg/mod/|/vendor/'
      and f.found[1] !~ '^(?:runtime|panic|reflect|sync|net/http|testing)(?:[./]|$)'
    order by f.place
    limit 1
  );
end $$;
