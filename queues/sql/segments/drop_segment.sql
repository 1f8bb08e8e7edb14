-- drop_segment(segment_number): drop a segment of the log, the last step, after it was detached.
create or replace function signalbox.drop_segment(segment_number bigint) returns void
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform signalbox.keep_live_bodies(drop_segment.segment_number);
  execute format('drop table signalbox.%I', 'message_' || drop_segment.segment_number);
  delete from signalbox.body_pointer p
  where p.message_id between drop_segment.segment_number * 1000000 + 1 and (drop_segment.segment_number + 1) * 1000000;
  delete from signalbox.segment s where s.segment_number = drop_segment.segment_number;
end $$;
