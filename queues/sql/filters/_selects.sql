-- Return whether a message satisfies the conditions of _compile_filter. A field that the message lacks fails each
-- condition, and so satisfies each negated condition. A large body is JSON's null here.
create or replace function signalbox._selects(
  p_conditions jsonpath[], p_negated boolean[], p_payload jsonb, p_attributes jsonb, p_group_id text,
  p_priority integer, p_trace_id text
) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(bool_and(coalesce(d.document @@ c.condition, false) <> c.negated), true)
  from (
    select jsonb_build_object(
      'payload', p_payload, 'attr', p_attributes, 'group', p_group_id, 'priority', p_priority, 'trace', p_trace_id
    ) as document
  ) d
  cross join unnest(p_conditions, p_negated) c(condition, negated)
$$;
