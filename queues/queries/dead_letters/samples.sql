-- Dead letters as examples of their failure group: ids, queue, time, the beginning of the payload, and the whole
-- payload of a small one.
select d.dead_letter_id, d.message_id, d.source_queue, d.died_at, left(d.payload::text, 2048),
  case when d.body_sha256 is null and pg_column_size(d.payload) <= 65536 then d.payload::text end
from signalbox.dead_letter d
where d.dead_letter_id = any(%s::bigint[])
order by d.dead_letter_id desc
