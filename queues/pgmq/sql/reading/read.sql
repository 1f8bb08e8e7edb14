-- read(queue_name, vt, qty): lease up to qty messages, at most 1000, for vt seconds, at most 12 hours. Call it in a
-- transaction of its own, and commit before the work starts. Reading by the content of messages (conditional) is
-- refused.
create or replace function pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if read.conditional <> '{}' then
    perform signalbox._refuse(
      'conditional', 'must be {}: a queue delivers all its messages; use a queue for each kind'
    );
  end if;
  return query
  select r.message_id, r.receive_count, r.sent_at, clock_timestamp(), r.deadline, r.payload, r.attributes
  from signalbox.receive(read.queue_name, least(read.qty, 1000), least(read.vt, 43200)) r;
end $$;
