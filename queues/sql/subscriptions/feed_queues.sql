-- feed_queues(): send unread messages of subscriptions to their queues, in one transaction with their offsets: each
-- message comes to each subscription's queue once, and has its lease, retries and dead letters there. A queue is kept
-- at most queue_window messages ahead of its consumers, so a queue without consumers costs only its lag. Key,
-- attributes and trace are kept; the key is the message's group. A queue without room for all messages gets the first
-- ones; a queue that refuses a single message is tried again later. Subscriptions of one queue share its room. A
-- subscription that cannot continue holds no other back: it waits for no FIFO group and for no lock. Held copies of
-- subscriptions of queues are sent too (send_held_copies), and captures read on in their tables (backfill_capture).
-- Returns how many messages.
create or replace function signalbox.feed_queues() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_turn record;
  v_fed bigint := 0;
begin
  for v_turn in select t.group_id, t.sharers from signalbox.subscriptions_to_feed() t loop
    begin
      v_fed := v_fed + signalbox.feed_queue(v_turn.group_id, v_turn.sharers);
    exception
      when others then
        raise warning 'subscription % was not fed: % (%)', v_turn.group_id, sqlerrm, sqlstate;
    end;
  end loop;
  for v_turn in select c.subscription_id from signalbox.subscriptions_with_copies() c(subscription_id) loop
    begin
      v_fed := v_fed + signalbox.send_held_copies(v_turn.subscription_id);
    exception
      when others then
        raise warning 'held copies of subscription % were not sent: % (%)', v_turn.subscription_id, sqlerrm, sqlstate;
    end;
  end loop;
  perform signalbox.backfill_capture(c.capture_id) from signalbox.capture c where c.backfilled_at is null;
  return v_fed;
end $$;
