-- forward(queue_name, max_messages): move messages from pgmq's own table of a queue to the queue, in the caller's
-- transaction: a message is always in exactly one of the two, also when the move is interrupted. Returns how many.
-- Messages in flight stay until their time is over; delayed ones keep their time. Several callers share the work.
create or replace function pgmq.forward(queue_name text, max_messages integer default 1000) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass := pgmq._old_table(forward.queue_name);
  v_messages pgmq.message_record[];
begin
  if v_table is null then
    return 0;
  end if;
  execute format(
    'with gone as ('
    || ' delete from %1$s q where q.msg_id = any(array('
    || ' select c.msg_id from %1$s c where c.read_ct = 0 or c.vt <= clock_timestamp()'
    || ' order by c.msg_id limit $1 for update skip locked)) returning to_jsonb(q) as kept)'
    || ' select array_agg(r order by r.msg_id) from gone g, pgmq._old_record(g.kept) r', v_table
  ) into v_messages using least(forward.max_messages, 10000);
  perform signalbox.send_batch(
    forward.queue_name,
    array(select coalesce(m.message, 'null') from unnest(v_messages) m),
    array(
      select case when jsonb_typeof(m.headers) <> 'object' then jsonb_build_object('headers', m.headers)
        else m.headers end
      from unnest(v_messages) m
    ),
    delay_seconds => array(
      select greatest(extract(epoch from m.vt - clock_timestamp()), 0)::double precision from unnest(v_messages) m
    )
  ) where v_messages is not null;
  return coalesce(cardinality(v_messages), 0);
end $$;
