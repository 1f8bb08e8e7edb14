-- send(queue_name, msg, headers, delay): send one message, in the caller's transaction. Returns its id. headers is a
-- JSON object, or null; delay is a number of seconds, or the time of delivery. Without a delay, that of the queue
-- counts.
create or replace function pgmq.send(queue_name text, msg jsonb) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select signalbox.send(send.queue_name, coalesce(send.msg, 'null'))
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select signalbox.send(send.queue_name, coalesce(send.msg, 'null'), send.headers)
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, delay integer) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send(send.queue_name, send.msg, null, clock_timestamp() + send.delay * interval '1 second')
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, delay timestamptz) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send(send.queue_name, send.msg, null, send.delay)
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay integer) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send(
    send.queue_name, send.msg, send.headers, clock_timestamp() + send.delay * interval '1 second'
  )
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send(send.queue_name, send.msg, send.headers, send.delay)
$$;
