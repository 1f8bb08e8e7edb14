insert into textbook.message (payload) values ('$payload');
update textbook.message
set visible_at = clock_timestamp() + interval '30 seconds', receive_count = receive_count + 1
where message_id = (
  select c.message_id
  from textbook.message c
  where c.visible_at <= now()
  order by c.visible_at
  limit 1
  for update skip locked
)
returning message_id, payload \gset
delete from textbook.message where message_id = :message_id;
