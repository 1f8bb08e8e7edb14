-- Note that this transaction may still commit positions of a partition, so that readers do not read past a gap that may
-- still be filled. Before its transaction draws its first position of a partition, an appender takes a shared advisory
-- lock whose key says after which position it may still commit: the first half is the partition, the second the low
-- half of the last position drawn so far. The lock is only ever shared, so it never waits. It ends with the
-- transaction, after its messages can be seen, and survives PREPARE TRANSACTION. The transaction's own setting
-- signalbox.appending remembers the partitions, signed; a rolled back savepoint undoes both.
create or replace function signalbox._enter_partition(p_stream_id integer, p_partition integer, p_positions regclass)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_class integer := signalbox._partition_class(p_stream_id, p_partition);
  v_noted text := current_setting('signalbox.appending', true);
  v_entered text := coalesce(split_part(v_noted, ' ', 2), '');
begin
  if v_entered <> '' then
    if v_noted is distinct from signalbox._sign('appending ' || v_entered) || ' ' || v_entered then
      v_entered := ''; -- not a note of this transaction
    elsif strpos(v_entered, v_class || ';') > 0 then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock_shared(v_class, coalesce(pg_sequence_last_value(p_positions), 0)::bit(32)::integer);
  v_entered := v_entered || v_class || ';';
  perform set_config('signalbox.appending', signalbox._sign('appending ' || v_entered) || ' ' || v_entered, true);
end $$;
