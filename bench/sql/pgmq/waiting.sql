select count(*) from pgmq.q_bench;
