-- keep_live_bodies(segment_number): copy the bodies that live messages, the trash and the archive still need out of a
-- segment that is about to be dropped. Call it before and after the segment is detached, so that a message that moved
-- in between keeps its body too.
create or replace function signalbox.keep_live_bodies(segment_number bigint) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_first bigint := keep_live_bodies.segment_number * 1000000 + 1;
  v_last bigint := (keep_live_bodies.segment_number + 1) * 1000000;
  v_kept bigint;
begin
  -- before the read: an erasure sees the lock, and checks the messages again (erase_messages)
  perform pg_current_xact_id();
  execute format($sql$
    insert into signalbox.message_kept (
      message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at, txid,
      body_sha256, body_bytes, expires_at
    )
    select m.message_id, m.queue_id, m.payload, m.attributes, m.group_id, m.deduplication_id, m.trace_id, m.priority,
      m.sent_at, m.txid,
      m.body_sha256, m.body_bytes, m.expires_at
    from signalbox.%I m
    where exists (
      select from (
        select r.message_id from signalbox.ready r where r.message_id between $1 and $2
        union all
        select s.message_id from signalbox.scheduled s where s.message_id between $1 and $2
        union all
        select l.message_id from signalbox.lease l where l.message_id between $1 and $2
        union all
        select w.message_id from signalbox.waiting w where w.message_id between $1 and $2
        union all
        select t.message_id from signalbox.trash t where t.message_id between $1 and $2
        union all
        select u.message_id from signalbox._unarchived_endings() u(message_id) where u.message_id between $1 and $2
      ) live
      where live.message_id = m.message_id
    )
    on conflict (queue_id, message_id) do nothing
  $sql$, 'message_' || keep_live_bodies.segment_number)
  using v_first, v_last;
  get diagnostics v_kept = row_count;
  return v_kept;
end $$;
