-- Make the table of a new stream, its first segments, and its sequences: one for the turns of messages without a key,
-- one that counts deduplicated appends, and one for the positions of each partition. With the owner's rights, since only
-- the owner may attach a table; only for a stream that has none yet.
create or replace function signalbox._equip_stream(p_stream_id integer, p_partitions integer) returns void
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_id integer := p_stream_id;
begin
  perform from signalbox.stream s where s.stream_id = v_id and s.turn is null and s.partitions = p_partitions
    for update;
  if not found then
    perform signalbox._refuse('stream', 'is equipped already, or does not exist');
  end if;
  execute format(
    'create table signalbox.%I (like signalbox.stream_message including defaults) partition by range (appended_at)',
    'stream_message_' || v_id
  );
  perform signalbox._identify_partition('stream_message_' || v_id, 'stream_message');
  execute format(
    'alter table signalbox.stream_message attach partition signalbox.%I for values in (%s)', 'stream_message_' || v_id,
    v_id
  );
  execute format('create sequence signalbox.%I minvalue 0 start 0', 'stream_turn_' || v_id);
  perform signalbox._copy_grants(format('signalbox.stream_turn_%s', v_id)::regclass, 'signalbox.message_id');
  execute format('create sequence signalbox.%I', 'stream_repeats_' || v_id);
  perform signalbox._copy_grants(format('signalbox.stream_repeats_%s', v_id)::regclass, 'signalbox.message_id');
  perform signalbox._copy_grants(format('signalbox.stream_message_%s', v_id)::regclass, 'signalbox.stream_message');
  update signalbox.stream s
  set turn = ('signalbox.stream_turn_' || v_id)::regclass,
    repeats = ('signalbox.stream_repeats_' || v_id)::regclass,
    positions = signalbox._make_positions(v_id, 0, p_partitions - 1)
  where s.stream_id = v_id;
  perform signalbox._ensure_stream_segments(v_id);
end $$;
revoke execute on function signalbox._equip_stream(integer, integer) from public;
