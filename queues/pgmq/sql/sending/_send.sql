-- Send one message that is delivered at a time, or at once when that has passed. Headers are the message's attributes.
create or replace function pgmq._send(p_queue_name text, p_msg jsonb, p_headers jsonb, p_due timestamptz)
returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select signalbox.send(
    p_queue_name, coalesce(p_msg, 'null'), p_headers,
    delay_seconds => greatest(extract(epoch from p_due - clock_timestamp()), 0)::double precision
  )
$$;
