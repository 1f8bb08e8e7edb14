-- pgmq is installed before this script, from the SQL in its Python client. Messages are archived, not deleted, so that
-- pgmq keeps a history as Signalbox does.
select pgmq.create('bench');
