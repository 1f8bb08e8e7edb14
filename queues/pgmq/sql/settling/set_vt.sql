-- set_vt(queue_name, msg_ids, vt): deliver messages again at another time: extend or end the leases of those in flight,
-- move the time of those that are delayed. vt is a time, or seconds from now. Beyond 12 hours a message in flight is
-- put off, which ends its lease. Returns the messages that were found; those that are ready stay as they are, and are
-- not among them.
create or replace function pgmq.set_vt(queue_name text, msg_ids bigint[], vt timestamptz)
returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer := pgmq._queue_id(set_vt.queue_name);
  v_handles text[] := pgmq._handles(v_queue_id, set_vt.msg_ids);
  v_seconds double precision := greatest(extract(epoch from set_vt.vt - clock_timestamp()), 0);
  v_messages pgmq.message_record[] := array(select r from pgmq._records(v_queue_id, set_vt.msg_ids) r);
  v_found bigint[];
begin
  if v_seconds <= 43200 then
    v_found := array(
      select split_part(c.receipt_handle, '.', 2)::bigint
      from signalbox.change_visibility_batch(v_handles, v_seconds) c
      where c.deadline is not null
    );
  else
    v_found := array(
      select split_part(h, '.', 2)::bigint from unnest(v_handles) h where signalbox.defer(h, v_seconds) is not null
    );
  end if;
  v_found := v_found || array(
    select i
    from unnest(set_vt.msg_ids) i
    where i <> all(v_found) and signalbox.reschedule(set_vt.queue_name, i, set_vt.vt) is not null
  );
  return query
  select m.msg_id, m.read_ct, m.enqueued_at, m.last_read_at, set_vt.vt, m.message, m.headers
  from unnest(v_messages) m
  where m.msg_id = any(v_found);
  if not set_vt.msg_ids <@ v_found then
    return query select o.* from pgmq._set_old_vt(set_vt.queue_name, set_vt.msg_ids, set_vt.vt) o;
  end if;
end $$;

create or replace function pgmq.set_vt(queue_name text, msg_ids bigint[], vt integer) returns setof pgmq.message_record
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.set_vt(set_vt.queue_name, set_vt.msg_ids, clock_timestamp() + set_vt.vt * interval '1 second')
$$;

create or replace function pgmq.set_vt(queue_name text, msg_id bigint, vt timestamptz)
returns setof pgmq.message_record
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.set_vt(set_vt.queue_name, array[set_vt.msg_id], set_vt.vt)
$$;

create or replace function pgmq.set_vt(queue_name text, msg_id bigint, vt integer) returns setof pgmq.message_record
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select *
  from pgmq.set_vt(set_vt.queue_name, array[set_vt.msg_id], clock_timestamp() + set_vt.vt * interval '1 second')
$$;
