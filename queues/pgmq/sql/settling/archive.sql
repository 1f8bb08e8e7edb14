-- archive(queue_name, msg_ids): end messages as delete does, and keep them in the table pgmq.a_<queue>. Returns the ids
-- of those that were there.
create or replace function pgmq.archive(queue_name text, msg_ids bigint[]) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer := pgmq._queue_id(archive.queue_name);
  v_messages pgmq.message_record[] := array(select r from pgmq._records(v_queue_id, archive.msg_ids) r);
  v_ended bigint[] := array(select pgmq._end(v_queue_id, archive.msg_ids));
begin
  v_messages := array(select m from unnest(v_messages) m where m.msg_id = any(v_ended));
  if not archive.msg_ids <@ v_ended then
    v_messages := v_messages || array(select o from pgmq._end_old(archive.queue_name, archive.msg_ids) o);
  end if;
  execute format(
    'insert into pgmq.%I (msg_id, read_ct, enqueued_at, last_read_at, vt, message, headers)'
    || ' select m.msg_id, m.read_ct, m.enqueued_at, m.last_read_at, m.vt, m.message, m.headers from unnest($1) m',
    'a_' || lower(archive.queue_name)
  ) using v_messages;
  return query select m.msg_id from unnest(v_messages) m;
end $$;

create or replace function pgmq.archive(queue_name text, msg_id bigint) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from pgmq.archive(archive.queue_name, array[archive.msg_id]))
$$;
