select msg_id, message from pgmq.read('bench', 30, 1) \gset
select pgmq.archive('bench', :msg_id::bigint);
