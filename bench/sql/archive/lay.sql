-- Messages that were sent, received and acknowledged, as the verbs leave them: a transaction for each thousand, with
-- ten acks of a hundred each. Payloads differ, so that they compress as real ones do.
do $$$$
declare
  v_queue_id integer := (select q.queue_id from signalbox.queue q where q.name = '$queue');
  v_ids bigint[];
begin
  set local synchronous_commit = off;
  for v_batch in 1..$messages / 1000 loop
    v_ids := array(select nextval('signalbox.message_id') from generate_series(1, 1000));
    perform signalbox._ensure_segment(v_ids[1]), signalbox._ensure_segment(v_ids[1000]);
    insert into signalbox.message (message_id, queue_id, payload, priority, sent_at)
    select id, v_queue_id,
      jsonb_build_object(
        'event', 'order.shipped', 'order_id', 1000000 + id, 'customer_id', 'c-' || hashint8(id),
        'warehouse', (array['rotterdam-2', 'lyon', 'gdansk-1', 'porto'])[1 + id % 4],
        'items', jsonb_build_array(
          jsonb_build_object('sku', 'A-' || id % 997, 'quantity', 1 + id % 3),
          jsonb_build_object('sku', 'B-' || id % 1009, 'quantity', 1)
        ),
        'express', id % 5 = 0
      ), 0, clock_timestamp() - interval '3 seconds'
    from unnest(v_ids) id;
    insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer)
    select v_queue_id, clock_timestamp(), v_ids[ack * 100 + 1:ack * 100 + 100], array_fill(1::smallint, array[100]),
      array(select (20 + abs(hashint8(id)) % 200)::integer from unnest(v_ids[ack * 100 + 1:ack * 100 + 100]) id),
      'worker-' || ack
    from generate_series(0, 9) ack;
    insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, 1, 1000), (v_queue_id, 3, 1000);
    commit;
  end loop;
end $$$$
