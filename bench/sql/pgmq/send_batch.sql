select array_agg(msg_id) from pgmq.send_batch('bench', array_fill(jsonb '$payload', array[$batch])) sent(msg_id);
