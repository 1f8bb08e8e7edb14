-- send_batch(queue_name, msgs, headers, delay): send many messages in one statement. Returns their ids in the order of
-- msgs. headers has one entry for each message, or is null; one delay counts for all of them.
create or replace function pgmq.send_batch(queue_name text, msgs jsonb[]) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send_batch(
    send_batch.queue_name, send_batch.msgs, null, null
  )
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[]) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send_batch(
    send_batch.queue_name, send_batch.msgs, send_batch.headers, null
  )
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], delay integer) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send_batch(
    send_batch.queue_name, send_batch.msgs, null, clock_timestamp() + send_batch.delay * interval '1 second'
  )
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], delay timestamptz) returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send_batch(
    send_batch.queue_name, send_batch.msgs, null, send_batch.delay
  )
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer)
returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send_batch(
    send_batch.queue_name, send_batch.msgs, send_batch.headers,
    clock_timestamp() + send_batch.delay * interval '1 second'
  )
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
returns setof bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq._send_batch(
    send_batch.queue_name, send_batch.msgs, send_batch.headers, send_batch.delay
  )
$$;
