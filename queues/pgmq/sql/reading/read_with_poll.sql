-- read_with_poll(queue_name, vt, qty, max_poll_seconds, poll_interval_ms): read, and where there is nothing try again
-- until there is. It waits for at most 60 seconds, inside its transaction.
create or replace function pgmq.read_with_poll(
  queue_name text,
  vt integer,
  qty integer,
  max_poll_seconds integer default 5,
  poll_interval_ms integer default 100,
  conditional jsonb default '{}'
) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz := clock_timestamp() + least(read_with_poll.max_poll_seconds, 60) * interval '1 second';
begin
  loop
    return query
    select r.*
    from pgmq.read(read_with_poll.queue_name, read_with_poll.vt, read_with_poll.qty, read_with_poll.conditional) r;
    exit when found or (clock_timestamp() < v_until) is not true;
    perform pg_sleep(greatest(read_with_poll.poll_interval_ms, 10) / 1000.0);
  end loop;
end $$;
