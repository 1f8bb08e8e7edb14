-- Send messages that are delivered at one time; null: by the delay of the queue.
create or replace function pgmq._send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select signalbox.send_batch(
    _send_batch.queue_name,
    array(select coalesce(m.msg, 'null') from unnest(_send_batch.msgs) with ordinality m(msg, place) order by m.place),
    _send_batch.headers,
    delay_seconds => case when _send_batch.delay is not null then array_fill(
      greatest(extract(epoch from _send_batch.delay - clock_timestamp()), 0)::double precision,
      array[cardinality(_send_batch.msgs)]
    ) end
  )
$$;
