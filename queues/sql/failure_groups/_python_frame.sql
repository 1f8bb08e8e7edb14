-- The topmost frame of the application's own code in a stack of Python.
create or replace function signalbox._python_frame(p_stack text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select concat(f.found[2], ' (', signalbox._file_name(f.found[1]), ')')
    from regexp_matches(
      p_stack, '^[ \t|+]*File "([^"\n]+)", line \d+(?:, in ([^\n]+))?$', 'gn'
    ) with ordinality f(found, place)
    where f.found[1] !~* '(?:site|dist)-packages|[/\\]lib(?:64)?[/\\]python[0-9]|[/\\]python[0-9.]*[/\\]lib[/\\]|^<'
    order by f.place desc
    limit 1
  );
end $$;
