-- Read a row of one of pgmq's tables; earlier releases have fewer columns.
create or replace function pgmq._old_record(p_row jsonb) returns pgmq.message_record
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select (
    (p_row ->> 'msg_id')::bigint, (p_row ->> 'read_ct')::integer, (p_row ->> 'enqueued_at')::timestamptz,
    (p_row ->> 'last_read_at')::timestamptz, (p_row ->> 'vt')::timestamptz, p_row -> 'message',
    nullif(p_row -> 'headers', 'null')
  )::pgmq.message_record
$$;
