-- Sequences of the schema, and tables of streams: objects that are made with a queue, tenant or stream.
select c.relname, c.relkind = 'S'
from pg_class c
where c.relnamespace = 'signalbox'::regnamespace
  and (c.relkind = 'S' or c.relkind = 'p' and c.relname ~ '^stream_message_[0-9]+$')
order by c.relname
