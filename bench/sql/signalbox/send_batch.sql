select array_agg(message_id)
  from signalbox.send_batch('bench', array_fill(jsonb '$payload', array[$batch])) as sent(message_id);
