-- publish_log_end(): publish up to which id the log has segments. Call it on its own, after the segments were
-- committed.
create or replace function signalbox.publish_log_end() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end bigint;
begin
  if pg_current_xact_id_if_assigned() is not null then
    return pg_sequence_last_value('signalbox.log_end'::regclass);  -- what this transaction made may be rolled back
  end if;
  select (max(s.segment_number) + 1) * 1000000
  into v_end
  from signalbox._segments() s (segment_number);
  if v_end > coalesce(pg_sequence_last_value('signalbox.log_end'::regclass), 0) then
    perform setval('signalbox.log_end', v_end);
  end if;
  return v_end;
end $$;
