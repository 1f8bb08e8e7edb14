-- The values of one term as a condition of a JSON path on @, of which one must hold: any value (*), comparisons,
-- ranges, quoted text, and bare words, which are a number, true, false or null as well as text.
create or replace function signalbox._filter_values(p_key text, p_values text, p_term text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  c_number constant text := '-?(?:0|[1-9]\d{0,99})(?:\.\d{1,100})?(?:[eE][+-]?\d{1,3})?';
  v_value text;
  v_any text[] := '{}';
  v_parts text[];
  v_is_json boolean := p_key in ('payload', 'attr');
begin
  for v_value in
    select m[1] from regexp_matches(p_values || ',', '((?:"(?:[^"\\]|\\.)*"|[^",])*),', 'g') m
  loop
    v_parts := regexp_match(v_value, '^(>=|<=|>|<)(' || c_number || ')$');
    if v_parts is not null and p_key not in ('group', 'trace') then
      v_any := v_any || format('@ %s %s', v_parts[1], v_parts[2]);
      continue;
    end if;
    v_parts := regexp_match(v_value, '^(' || c_number || ')\.\.(' || c_number || ')$');
    if v_parts is not null and p_key not in ('group', 'trace') then
      v_any := v_any || format('(@ >= %s && @ <= %s)', v_parts[1], v_parts[2]);
      continue;
    end if;
    if v_value = '*' then
      v_any := v_any || case when v_is_json then '(@ == null || @ != null)' else '@ != null' end;
      continue;
    end if;
    if v_value = '' or v_value ~ '^[/<>''‘’“”]' or v_value like '%"%' and v_value !~ '^"(?:[^"\\]|\\.)*"$'
      or p_key = 'priority' and v_value !~ '^(0|[1-9]\d{0,4})$'
    then
      perform signalbox._refuse(
        'filter', format('has the value %s in %s, which a subscription does not take', quote_literal(left(v_value, 120)),
          quote_literal(left(p_term, 120)))
      );
    end if;
    if p_key = 'priority' then
      v_any := v_any || format('@ == %s', v_value);
    else
      v_any := v_any || format('@ == %s', signalbox._filter_text(v_value));
    end if;
    if v_is_json and v_value ~ ('^(?:true|false|null|' || c_number || ')$') then
      v_any := v_any || format('@ == %s', v_value);
    end if;
  end loop;
  return array_to_string(v_any, ' || ');
end $$;
