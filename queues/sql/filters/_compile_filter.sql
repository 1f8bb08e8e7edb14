-- Compile a filter of the language of docs/operate/filters.md to conditions on one message: each a JSON path over the
-- document of _selects, with whether it is negated. All must hold; none means every message. Only fields that the
-- message itself has are allowed: payload, attr, group, priority and trace. Patterns and words are refused, since a
-- sender would wait for them. Reads the text once.
create or replace function signalbox._compile_filter(
  p_filter text, out conditions jsonpath[], out negated boolean[]
)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  c_term constant text := '(?:[^\s"]|"(?:[^"\\]|\\.)*")+';
  c_head constant text := '^(-?)([A-Za-z]+)((?:\.(?:"(?:[^"\\]|\\.)*"|[^\s":,.\[\]]+)(?:\[\])*)*):(.+)$';
  v_term text;
  v_parts text[];
begin
  conditions := '{}';
  negated := '{}';
  if octet_length(p_filter) > 2000 then
    perform signalbox._refuse('filter', format('has %s bytes: at most 2000', octet_length(p_filter)));
  end if;
  if regexp_replace(p_filter, c_term, '', 'g') ~ '\S' then
    perform signalbox._refuse('filter', 'has quotes that are not closed');
  end if;
  for v_term in select m[1] from regexp_matches(p_filter, '(' || c_term || ')', 'g') m loop
    v_parts := regexp_match(v_term, c_head);
    if v_parts is null or lower(v_parts[2]) not in ('payload', 'attr', 'group', 'priority', 'trace') then
      perform signalbox._refuse(
        'filter',
        format(
          'has the term %s: a subscription selects by payload, attr, group, priority and trace, as in '
          'payload.kind:refund', quote_literal(left(v_term, 120))
        )
      );
    end if;
    if (lower(v_parts[2]) in ('payload', 'attr')) <> (v_parts[3] <> '') then
      perform signalbox._refuse(
        'filter', format('has the term %s: payload and attr need a path, and the others have none',
          quote_literal(left(v_term, 120)))
      );
    end if;
    if cardinality(conditions) = 50 then
      perform signalbox._refuse('filter', 'has more than 50 terms');
    end if;
    conditions := conditions || signalbox._filter_path(lower(v_parts[2]), v_parts[3], v_parts[4], v_term);
    negated := negated || (v_parts[1] = '-');
  end loop;
end $$;
