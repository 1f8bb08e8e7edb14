-- The topmost frame of the application's own code in a stack of Ruby.
create or replace function signalbox._ruby_frame(p_stack text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select concat(f.found[2], ' (', signalbox._file_name(f.found[1]), ')')
    from regexp_matches(
      p_stack, '^[ \t]*(?:from )?([^:\n]+\.(?:rb|rake|ru|erb)):\d+:in [`'']([^\n`'']+)''', 'gn'
    ) with ordinality f(found, place)
    where f.found[1] !~ '/gems/|/lib/ruby/|<internal:|/bundle/'
    order by f.place
    limit 1
  );
end $$;
