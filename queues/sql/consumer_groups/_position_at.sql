-- Return the position behind which a group begins to read from a point. The end is the last committed position:
-- messages that are being appended now come to the group. A time is found by halving the positions, with a probe each.
-- The search steps back a second, since messages that are appended at the same moment may be out of order.
create or replace function signalbox._position_at(
  p_stream_id integer, p_partition integer, p_point text, p_at timestamptz
)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_low bigint;
  v_high bigint := (
    select signalbox._horizons(s.stream_id, s.positions) from signalbox.stream s where s.stream_id = p_stream_id
  )[p_partition + 1];
  v_middle bigint;
  v_found record;
begin
  select p.first_position - 1 into v_low
  from signalbox.stream_partition p
  where p.stream_id = p_stream_id and p.partition = p_partition;
  if p_point = 'beginning' then
    return v_low;
  elsif p_point = 'end' then
    return greatest(v_low, v_high);
  end if;
  while v_low < v_high loop
    v_middle := (v_low + v_high) / 2;
    v_found := signalbox._first_behind(p_stream_id, p_partition, v_middle, v_high);
    if v_found.appended_at < p_at - interval '1 second' then
      v_low := v_found.position;
    else
      v_high := v_middle;
    end if;
  end loop;
  return v_low;
end $$;
