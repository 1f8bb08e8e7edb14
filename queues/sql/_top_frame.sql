-- The frame of a stack that says where the application was: "function (file)", without line numbers, which move with every
-- release. Of Python the last one that is no library's, of Java, JavaScript, .NET, Go and Ruby the first; null when there
-- is none. Reads the nearest 16,000 characters, since anybody may have written them.
create or replace function signalbox._top_frame(p_details text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select left(coalesce(
      case when strpos(tail, 'File "') > 0 then signalbox._python_frame(tail) end,
      case when strpos(head, 'at ') > 0 then signalbox._called_at(head) end,
      case when strpos(head, '.go:') > 0 then signalbox._go_frame(head) end,
      case when strpos(head, '.rb:') > 0 then signalbox._ruby_frame(head) end
    ), 300)
    from (select left(p_details, 16000) collate "C" as head, right(left(p_details, 65536), 16000) collate "C" as tail) t
  );
end $$;

create or replace function signalbox._file_name(p_path text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return regexp_replace(p_path, '^.*[/\\]', '');
end $$;

create or replace function signalbox._python_frame(p_stack text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select concat(f.found[2], ' (', signalbox._file_name(f.found[1]), ')')
    from regexp_matches(p_stack, '^[ \t|+]*File "([^"\n]+)", line \d+(?:, in ([^\n]+))?$', 'gn') with ordinality f(found, place)
    where f.found[1] !~* '(?:site|dist)-packages|[/\\]lib(?:64)?[/\\]python[0-9]|[/\\]python[0-9.]*[/\\]lib[/\\]|^<'
    order by f.place desc
    limit 1
  );
end $$;

-- Lines "at ...": of Java and its relatives, of JavaScript, of .NET.
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
      else concat(regexp_replace(f.dotnet[1], '__\d+(?:_\d+)?', '__', 'g'), coalesce(' (' || signalbox._file_name(f.dotnet[2]) || ')', ''))
    end
    from (
      select l.place,
        regexp_match(l.found[1], '^(?:[^ ()/]*/)*([^ ()/]+)\(([^():]+\.(?:java|kt|scala|groovy|clj))(?::\d+)?\)') as java,
        regexp_match(l.found[1], '^(?:async )?([^\n]+) \(([^()\n]+):\d+:\d+\)$') as node,
        regexp_match(l.found[1], '^(?:async )?([^() \n]+):\d+:\d+$') as bare,
        regexp_match(l.found[1], '^([^ (\n]+)\([^\n]*\)(?: in ([^\n]+):line \d+)?$') as dotnet
      from regexp_matches(p_stack, '^[ \t]*at ([^\n]+)$', 'gn') with ordinality l(found, place)
    ) f
    where case
      when f.java is not null then f.java[1] !~ (
        '^(?:java|javax|jakarta|jdk|sun|kotlin|kotlinx|scala|groovy|clojure|reactor|okhttp3|com\.(?:sun|fasterxml|zaxxer|google\.common)'
        || '|org\.(?:springframework|apache|hibernate|eclipse|jboss|junit|postgresql|codehaus|slf4j)|io\.(?:netty|reactivex|vertx|micronaut|quarkus))\.'
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

create or replace function signalbox._go_frame(p_stack text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select concat(f.found[1], ' (', signalbox._file_name(f.found[2]), ')')
    from regexp_matches(p_stack, '^([^ \t\n(][^\n]*)\([^\n]*\)\n\t([^\n]+\.go):\d+', 'gn') with ordinality f(found, place)
    where f.found[2] !~ '/usr/(?:local|lib)/go[^/]*/src/|/libexec/src/|/toolcache/go/|/pkg/mod/|/vendor/'
      and f.found[1] !~ '^(?:runtime|panic|reflect|sync|net/http|testing)(?:[./]|$)'
    order by f.place
    limit 1
  );
end $$;

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
