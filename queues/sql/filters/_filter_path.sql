-- The JSON path of one term: true if the path leads to a value that one of the term's values matches. Each step
-- continues with all values that the step before found, so an array element without the key does not exclude the other
-- elements.
create or replace function signalbox._filter_path(p_key text, p_path text, p_values text, p_term text) returns jsonpath
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_steps text[];
  v_matches text;
begin
  v_steps := array(
    select case when m[1] = '[]' then '[*]' else '.' || signalbox._filter_text(ltrim(m[1], '.'))::text end
    from regexp_matches(p_path, '(\.(?:"(?:[^"\\]|\\.)*"|[^\s":,.\[\]]+)|\[\])', 'g') m
  );
  v_matches := signalbox._filter_values(p_key, p_values, p_term);
  if cardinality(v_steps) > 16 then
    perform signalbox._refuse('filter', format('has a path of %s steps: at most 16', cardinality(v_steps)));
  end if;
  for i in reverse cardinality(v_steps)..1 loop
    v_matches := format('exists(@%s%s)', v_steps[i], ' ? (' || v_matches || ')');
  end loop;
  return format('strict exists($.%s ? (%s))', p_key, v_matches)::jsonpath;
exception
  when syntax_error or data_exception then
    perform signalbox._refuse('filter', format('has the term %s, which cannot be read', quote_literal(p_term)));
end $$;
