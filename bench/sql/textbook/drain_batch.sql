with claimed as (
  update textbook.message
  set visible_at = clock_timestamp() + interval '30 seconds', receive_count = receive_count + 1
  where message_id = any(array(
    select c.message_id
    from textbook.message c
    where c.visible_at <= now()
    order by c.visible_at
    limit $batch
    for update skip locked
  ))
  returning message_id, payload
)
select array_agg(message_id) as message_ids, array_agg(payload) as payloads from claimed \gset
delete from textbook.message where message_id = any(:message_ids);
