-- drop_history(): drop a partition that nobody needs any longer: days of settled and failed deliveries, quarter days
-- of deduplication, parts of queue history that are in the next coarser step. One a call, so that the lock on its parent is
-- short; never waits for a reader, since acks would wait behind it. Where there is an archive, what it lacks stays. Returns
-- what was dropped; call it until that is nothing, or again later.
create or replace function signalbox.drop_history() returns text[]
language plpgsql
set lock_timeout = '20ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
begin
  for v_name in select u.name from signalbox._unneeded_history() u loop
    begin
      execute format('drop table signalbox.%I', v_name);
      return array[v_name];
    exception
      when lock_not_available then
        null;
    end;
  end loop;
  return '{}';
end $$;

-- The partitions that are older than they are kept.
create or replace function signalbox._unneeded_history() returns table (name text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with kept as materialized (
    select signalbox.history_kept() as history_kept
  ), kinds as (
    select p.parent, p.part, p.kept from kept k, lateral (values
      ('settled', interval '1 day', k.history_kept), ('failure', interval '1 day', k.history_kept),
      ('dedup', interval '6 hours', interval '25 hours')
    ) p(parent, part, kept)
    union all
    select s.table_name, s.part, s.kept from signalbox._history_steps() s
  ), partitions as (
    select c.relname::text as name, k.parent, k.kept,
      to_timestamp(rpad(substring(c.relname from '_(\d{8}|\d{10})$'), 10, '0'), 'YYYYMMDDHH24')::timestamp at time zone 'UTC'
        + k.part as ends_at
    from kinds k
    join pg_inherits i on i.inhparent = ('signalbox.' || k.parent)::regclass
    join pg_class c on c.oid = i.inhrelid and c.relname ~ '_(\d{8}|\d{10})$'
  )
  select p.name
  from partitions p
  where p.ends_at < clock_timestamp() - p.kept
    and not signalbox._archive_needs(p.name)
    and not exists (
      select
      from signalbox._history_steps() s
      cross join lateral signalbox._due_history(s.step_seconds, s.next_seconds) d
      where s.table_name = p.parent and s.next_seconds is not null and d.bucket_at < p.ends_at
    )
  order by p.ends_at
$$;

-- How long history and bodies are kept: as long as the longest retention of any queue, and a day more.
create or replace function signalbox.history_kept() returns interval
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(max(q.retention_seconds) filter (where not q.is_dead_letter_queue), 345600) * interval '1 second' + interval '1 day'
  from signalbox.queue q
$$;

-- Segments of the log that nothing needs but, perhaps, a few live tickets: those sealed for longer than history is kept.
create or replace function signalbox.expired_segments() returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select s.segment_number
  from signalbox.segment s
  where s.sealed_at < clock_timestamp() - signalbox.history_kept()
  order by s.segment_number
$$;

-- keep_live_bodies(segment_number): copy the bodies that live tickets, those in the trash, and the archive still need out of a segment that is about to go.
-- Runs before and after the segment is detached, so that a ticket which moved meanwhile keeps its body too.
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
  perform pg_current_xact_id(); -- before it reads: an erasure sees that bodies are being copied, and comes back (erase_messages)
  execute format($sql$
    insert into signalbox.message_kept (
      message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at, txid,
      body_sha256, body_bytes
    )
    select m.message_id, m.queue_id, m.payload, m.attributes, m.group_id, m.deduplication_id, m.trace_id, m.priority, m.sent_at, m.txid,
      m.body_sha256, m.body_bytes
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

-- drop_segment(segment_number): the last step, after the segment was detached.
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

-- drop_kept(): bodies kept beyond their segment that no live ticket needs any longer, five thousand a call. Reads the
-- tickets once, since ready has no index on the message; hence seldom, and not beside the claim floors.
create or replace function signalbox.drop_kept() returns bigint
language plpgsql
set enable_nestloop = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dropped bigint;
begin
  delete from signalbox.message_kept d
  where d.ctid = any(array(
    select k.ctid
    from signalbox.message_kept k
    where k.kept_at < clock_timestamp() - signalbox.history_kept()
      and not exists (select from signalbox.lease l where l.message_id = k.message_id)
      and not exists (select from signalbox.scheduled s where s.message_id = k.message_id)
      and not exists (select from signalbox.ready r where r.message_id = k.message_id)
      and not exists (select from signalbox.waiting w where w.message_id = k.message_id)
      and not exists (select from signalbox.trash t where t.message_id = k.message_id)
      and not exists (select from signalbox._unarchived_endings() u(message_id) where u.message_id = k.message_id)
    limit 5000
    for update of k skip locked  -- a redrive that needs some of them again locks them in another order
  ))
  -- Asked again of a row that a redrive has meanwhile begun to need: its place alone is not asked before 17.7 and 18.1.
  and d.kept_at < clock_timestamp() - signalbox.history_kept();
  get diagnostics v_dropped = row_count;
  return v_dropped;
end $$;
