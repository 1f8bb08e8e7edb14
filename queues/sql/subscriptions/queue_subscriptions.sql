-- queue_subscriptions(): each subscription of a queue to another, with the number of copies that it holds, counted up
-- to 10,001. Index: held_copy_pkey.
create or replace function signalbox.queue_subscriptions() returns table (
  subscription_id integer,
  source text,
  target text,
  filter text,
  delay_seconds double precision,
  paused boolean,
  held bigint,
  oldest_held_at timestamptz,
  expired bigint
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select s.subscription_id, source.name, target.name, s.filter, s.delay_seconds, s.paused, h.held, h.oldest_held_at,
    s.expired
  from signalbox.queue_subscription s
  join signalbox.queue source on source.queue_id = s.source_queue_id
  join signalbox.queue target on target.queue_id = s.target_queue_id
  cross join lateral (
    select count(*) as held, min(h.held_at) as oldest_held_at
    from (
      select c.held_at from signalbox.held_copy c where c.subscription_id = s.subscription_id
      order by c.held_copy_id
      limit 10001
    ) h
  ) h
  order by source.name, target.name
$$;
