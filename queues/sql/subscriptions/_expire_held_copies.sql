-- Delete held copies that are older than their target keeps messages, at most 1000, and count them.
create or replace function signalbox._expire_held_copies(p_subscription_id integer, p_retention double precision)
returns void
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_expired bigint;
begin
  with oldest as (
    select h.held_copy_id, h.held_at from signalbox.held_copy h
    where h.subscription_id = p_subscription_id
    order by h.held_copy_id
    limit 1000
  )
  delete from signalbox.held_copy h
  using oldest o
  where h.subscription_id = p_subscription_id and h.held_copy_id = o.held_copy_id
    and o.held_at < clock_timestamp() - p_retention * interval '1 second';
  get diagnostics v_expired = row_count;
  if v_expired > 0 then
    update signalbox.queue_subscription s set expired = s.expired + v_expired
    where s.subscription_id = p_subscription_id;
  end if;
end $$;
