-- Make the partitions of a stream from one number up to another: the sequence of positions of each, and its row.
-- Returns the sequences. Called with the owner's rights.
create or replace function signalbox._make_positions(p_stream_id integer, p_first integer, p_last integer)
returns regclass[]
language plpgsql
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_name text;
  v_made regclass[] := '{}';
begin
  for p in p_first..p_last loop
    v_name := format('signalbox.stream_position_%s_%s', p_stream_id, p);
    execute format('create sequence %s cache 1', v_name);
    perform signalbox._copy_grants(v_name::regclass, 'signalbox.message_id');
    v_made := v_made || v_name::regclass;
  end loop;
  insert into signalbox.stream_partition (stream_id, partition) select p_stream_id, p
    from generate_series(p_first, p_last) p;
  return v_made;
end $$;
