-- The hot path alone: a log written once, narrow tickets, leases with fences, history and counters, one statement for
-- each verb. It has no priorities, delays, retries, dead letters, message groups, partitions, settings or text
-- receipts, and a fixed claim floor. It separates the cost of the design from the cost of the features.
create schema bare;
create table bare.queue (
  queue_id serial primary key, name text unique not null, visibility_seconds integer not null default 30
);
insert into bare.queue (name) values ('bench');
create table bare.message (
  message_id bigint generated always as identity primary key,
  queue_id integer not null,
  payload jsonb not null,
  attributes jsonb,
  group_id text,
  sent_at timestamptz not null default now()
);
create table bare.ready (
  queue_id integer not null, ready_at bigint not null, message_id bigint not null, receive_count smallint not null
);
create index ready_claim on bare.ready (queue_id, ready_at, message_id);
create table bare.lease (
  message_id bigint primary key,
  queue_id integer not null,
  nonce integer not null,
  deadline timestamptz not null,
  leased_at timestamptz not null default now(),
  receive_count smallint not null,
  consumer text
) with (fillfactor = 80);
create index lease_deadline on bare.lease (queue_id, deadline);
create table bare.counter_delta (
  queue_id integer not null,
  at timestamptz not null default now(),
  ready integer not null default 0,
  leased integer not null default 0,
  sent integer not null default 0,
  received integer not null default 0,
  acked integer not null default 0
);
create table bare.settled (
  queue_id integer not null, message_ids bigint[] not null, settled_at timestamptz not null default now()
);
create sequence bare.floor;
select setval('bare.floor', 1);

create function bare.send_batch(queue text, payloads jsonb[]) returns setof bigint
language plpgsql
set plan_cache_mode = force_generic_plan
as $$$$
declare
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id from bare.queue q where q.name = queue;
  insert into bare.counter_delta (queue_id, ready, sent)
    values (v_queue_id, cardinality(payloads), cardinality(payloads));
  return query
  with logged as (
    insert into bare.message (queue_id, payload) select v_queue_id, unnest(payloads) returning message_id
  ), readied as (
    insert into bare.ready (queue_id, ready_at, message_id, receive_count)
    select v_queue_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint, l.message_id, 0 from logged l
  )
  select l.message_id from logged l;
end $$$$;

create function bare.receive(queue text, max_messages integer, durable boolean)
returns table (message_id bigint, nonce integer, receive_count integer, payload jsonb, sent_at timestamptz)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$$$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_visibility_seconds integer;
  v_floor bigint;
begin
  select q.queue_id, q.visibility_seconds, pg_sequence_last_value('bare.floor'::regclass)
  into v_queue_id, v_visibility_seconds, v_floor
  from bare.queue q
  where q.name = receive.queue;
  if not receive.durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return query
  with picked as (
    delete from bare.ready r
    where r.ctid = any(array(
      select c.ctid from bare.ready c
      where c.queue_id = v_queue_id and c.ready_at >= v_floor
      order by c.ready_at, c.message_id
      limit receive.max_messages
      for update skip locked
    ))
    returning r.message_id, r.receive_count
  ), leased as (
    insert into bare.lease (message_id, queue_id, nonce, deadline, receive_count)
    select p.message_id, v_queue_id, (random() * 2147483647)::integer,
      now() + make_interval(secs => v_visibility_seconds),
      p.receive_count + 1
    from picked p
    returning lease.message_id, lease.nonce, lease.receive_count
  ), counted as (
    insert into bare.counter_delta (queue_id, ready, leased, received)
    select v_queue_id, -count(*), count(*), count(*) from picked having count(*) > 0
  )
  select l.message_id, l.nonce, l.receive_count::integer, m.payload, m.sent_at
  from leased l
  join bare.message m on m.message_id = l.message_id;
end $$$$;

create function bare.ack(message_ids bigint[], nonces integer[]) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$$$
declare
  v_acked integer;
begin
  with gone as (
    delete from bare.lease l using unnest(message_ids, nonces) g(message_id, nonce)
    where l.message_id = g.message_id and l.nonce = g.nonce
    returning l.queue_id, l.message_id
  ), kept as (
    insert into bare.settled (queue_id, message_ids) select g.queue_id, array_agg(g.message_id) from gone g
      group by g.queue_id
  ), counted as (
    insert into bare.counter_delta (queue_id, leased, acked) select g.queue_id, -count(*), count(*) from gone g
      group by g.queue_id
  )
  select count(*) into v_acked from gone;
  return v_acked;
end $$$$;
