-- create(queue_name): make a queue and the table pgmq.a_<queue> for what archive keeps. A queue that exists keeps its
-- settings; one that drop_queue closed is opened again. New queues deliver a message 1000 times before it becomes a
-- dead letter.
create or replace function pgmq.create(queue_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_closed boolean;
begin
  perform pgmq.validate_queue_name("create".queue_name);
  perform pg_advisory_xact_lock(hashtext('pgmq.queue_' || "create".queue_name));
  select q.closed into v_closed from signalbox.queue q where q.name = "create".queue_name;
  if v_closed is null then
    perform signalbox.create_queue("create".queue_name, '{"max_receives": 1000}');
  elsif v_closed then
    perform signalbox.configure_queue("create".queue_name, '{"closed": false}');
  end if;
  execute format(
    'create table if not exists pgmq.%I (msg_id bigint primary key, read_ct int default 0 not null,'
    || ' enqueued_at timestamptz default now() not null, last_read_at timestamptz,'
    || ' archived_at timestamptz default now() not null, vt timestamptz not null, message jsonb, headers jsonb)',
    'a_' || lower("create".queue_name)
  );
  insert into pgmq.meta (queue_name, is_partitioned, is_unlogged) values ("create".queue_name, false, false)
  on conflict do nothing;
end $$;
