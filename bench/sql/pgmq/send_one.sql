select pgmq.send('bench', jsonb '$payload');
