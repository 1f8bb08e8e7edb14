-- The columns that identify a row: those of the primary key, or those that are given, if a unique index has just these
-- and none is null.
create or replace function signalbox._key_columns(p_table regclass, p_key text[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text[];
begin
  select k.names into v_key
  from pg_index i
  cross join lateral (
    select array_agg(a.attname::text order by c.place) as names, bool_and(a.attnotnull) as no_nulls
    from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality c(attnum, place)
    left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = c.attnum and a.attnum > 0
  ) k
  where i.indrelid = p_table and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null and k.no_nulls
    and case when p_key is null then i.indisprimary else k.names @> p_key and k.names <@ p_key end
  limit 1;
  if v_key is null and p_key is null then
    perform signalbox._refuse(
      'key', format('must name columns: the table %s has no primary key', quote_literal(p_table::text))
    );
  elsif v_key is null then
    perform signalbox._refuse(
      'key', format('is %s: the table %s has no unique index of just these columns, none of them null',
        quote_literal(left(p_key::text, 120)), quote_literal(p_table::text))
    );
  end if;
  return coalesce(p_key, v_key);
end $$;
