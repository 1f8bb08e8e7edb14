-- preview_partitions(stream, partitions): what more partitions would do, without doing it. Returns how many partitions
-- the stream has, how many groups would get the new ones, the share of keys whose new messages would go to another
-- partition (the least for a multiple of the present number), and how many messages the groups have not read yet:
-- where there are none, no group can read a key's new messages before its old ones. Reads positions, no messages.
create or replace function signalbox.preview_partitions(stream text, partitions integer)
returns table (present integer, groups integer, moved_keys double precision, unread bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(preview_partitions.stream);
begin
  present := v_stream.partitions;
  perform signalbox._check_stream_settings(jsonb_build_object('partitions', preview_partitions.partitions));
  if preview_partitions.partitions < present then
    perform signalbox._refuse_fewer_partitions(present, preview_partitions.partitions);
  end if;
  moved_keys := 1 - present::double precision / lcm(present, preview_partitions.partitions);
  select count(*), coalesce(sum(n.lag_messages), 0)
  into groups, unread
  from signalbox.group_numbers(
    array(select g.group_id from signalbox.consumer_group g where g.stream_id = v_stream.stream_id)
  ) n;
  return next;
end $$;
