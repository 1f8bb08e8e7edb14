-- Check the point from which a consumer group reads.
create or replace function signalbox._check_point(p_point text, p_at timestamptz, p_points text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_point is null or p_point <> all(p_points) then
    perform signalbox._refuse('point', format('is %s: it must be one of %s',
      coalesce(quote_literal(left(p_point, 60)), 'null'), array_to_string(p_points, ', ')));
  end if;
  if (p_point = 'time') <> (p_at is not null) then
    perform signalbox._refuse(
      'at', case when p_at is null then 'is missing: which time?' else 'goes with the point ''time'' only' end
    );
  end if;
end $$;
