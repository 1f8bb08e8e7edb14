-- subscriptions_with_copies(): the subscriptions of queues that hold copies, the one first that sent longest ago: one
-- round of send_held_copies gives each its turn. Index: held_copy_pkey.
create or replace function signalbox.subscriptions_with_copies() returns setof integer
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select s.subscription_id
  from signalbox.queue_subscription s
  where exists (select from signalbox.held_copy h where h.subscription_id = s.subscription_id)
  order by s.fed_at, s.subscription_id;
end $$;
