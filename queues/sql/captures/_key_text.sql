-- The key of a message: the value of a single key column, or the JSON of all; a hash where that is too long.
create or replace function signalbox._key_text(p_key jsonb, p_columns text[]) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when length(t.text) between 1 and 200 then t.text
    else 'sha256:' || encode(sha256(convert_to(p_key::text, 'UTF8')), 'hex')
  end
  from (
    select case when cardinality(p_columns) = 1 then p_key ->> p_columns[1] else p_key::text end as text
  ) t
$$;
