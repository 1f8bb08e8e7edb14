-- Return the topmost frame of the application's own code in lines that begin with "at": stacks of Java and its
-- relatives, JavaScript and .NET.
create or replace function signalbox._called_at(p_stack text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select case
      when f.java is not null then concat(regexp_replace(f.java[1], '\$\$[^.]*|\$\d+', '$', 'g'), ' (', f.java[2], ')')
      when f.node is not null then concat(f.node[1], ' (', signalbox._file_name(f.node[2]), ')')
      when f.bare is not null then concat('(', signalbox._file_name(f.bare[1]), ')')
      else concat(
        regexp_replace(f.dotnet[1], '__\d+(?:_\d+)?', '__', 'g'),
        coalesce(' (' || signalbox._file_name(f.dotnet[2]) || ')', '')
      )
    end
    from (
      select l.place,
        regexp_match(
          l.found[1], '^(?:[^ ()/]*/)*([^ ()/]+)\(([^():]+\.(?:java|kt|scala|groovy|clj))(?::\d+)?\)'
        ) as java,
        regexp_match(l.found[1], '^(?:async )?([^\n]+) \(([^()\n]+):\d+:\d+\)$') as node,
        regexp_match(l.found[1], '^(?:async )?([^() \n]+):\d+:\d+$') as bare,
        regexp_match(l.found[1], '^([^ (\n]+)\([^\n]*\)(?: in ([^\n]+):line \d+)?$') as dotnet
      from regexp_matches(p_stack, '^[ \t]*at ([^\n]+)$', 'gn') with ordinality l(found, place)
    ) f
    where case
      when f.java is not null then f.java[1] !~ (
        '^(?:java|javax|jakarta|jdk|sun|kotlin|kotlinx|scala|groovy|clojure|reactor|okhttp3|'
        || 'com\.(?:sun|fasterxml|zaxxer|google\.common)'
        || '|org\.(?:springframework|apache|hibernate|eclipse|jboss|junit|postgresql|codehaus|slf4j)'
        || '|io\.(?:netty|reactivex|vertx|micronaut|quarkus))\.'
      )
      when f.node is not null then f.node[2] !~ 'node_modules|^node:|^internal/|<anonymous>'
      when f.bare is not null then f.bare[1] !~ 'node_modules|^node:|^internal/|<anonymous>'
      else f.dotnet[1] !~ '^(?:System|Microsoft|MS|Npgsql|Newtonsoft)\.' and f.dotnet[1] ~ '\.'
        and f.dotnet[1] !~ '^(?:java|javax|jdk|sun|com\.sun)\.'
    end
    order by f.place
    limit 1
  );
end $$;
