-- pgmq itself is installed before this, from the SQL that its Python client brings. Messages are archived, not deleted, so
-- that it keeps a history as Signalbox does.
select pgmq.create('bench');
