select array_agg(msg_id) as msg_ids, array_agg(message) as payloads from pgmq.read('bench', 30, $batch) \gset
select count(*) from pgmq.archive('bench', :msg_ids::bigint[]);
