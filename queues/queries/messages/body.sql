-- A message with its body, from the first of these that has it: the log, kept bodies, its dead letter, the trash.
select m.payload::text, m.attributes::text, m.group_id, m.deduplication_id, m.trace_id, m.priority, m.sent_at,
  encode(m.body_sha256, 'hex'), m.body_bytes,
  (select s.state::text from signalbox.message_state s where s.message_id = %(message_id)s),
  (select s.deferrals from signalbox.message_state s where s.message_id = %(message_id)s),
  m.expires_at, (select l.max_receives from signalbox.message_limit l where l.message_id = %(message_id)s)
from signalbox.message m where m.queue_id = %(queue_id)s and m.message_id = %(message_id)s
union all
select k.payload::text, k.attributes::text, k.group_id, k.deduplication_id, k.trace_id, k.priority, k.sent_at,
  encode(k.body_sha256, 'hex'), k.body_bytes,
  (select s.state::text from signalbox.message_state s where s.message_id = %(message_id)s),
  (select s.deferrals from signalbox.message_state s where s.message_id = %(message_id)s),
  k.expires_at, (select l.max_receives from signalbox.message_limit l where l.message_id = %(message_id)s)
from signalbox.message_kept k where k.queue_id = %(queue_id)s and k.message_id = %(message_id)s
union all
select d.payload::text, d.attributes::text, d.group_id, d.deduplication_id, d.trace_id, d.priority, d.sent_at,
  encode(d.body_sha256, 'hex'), d.body_bytes, null, null,
  (select l.expires_at from signalbox.message_limit l where l.message_id = %(message_id)s),
  (select l.max_receives from signalbox.message_limit l where l.message_id = %(message_id)s)
from signalbox.dead_letter d where d.message_id = %(message_id)s
  and (%(seen)s::integer[] is null or d.source_queue_id = any(%(seen)s))
union all
select d.payload::text, d.attributes::text, d.group_id, d.deduplication_id, d.trace_id, d.priority, d.sent_at,
  encode(d.body_sha256, 'hex'), d.body_bytes, d.state::text, null,
  (select l.expires_at from signalbox.message_limit l where l.message_id = %(message_id)s),
  (select l.max_receives from signalbox.message_limit l where l.message_id = %(message_id)s)
from signalbox.trash t, jsonb_populate_record(null::signalbox.dead_letter, t.letter) d
where t.message_id = %(message_id)s and t.letter is not null
  and (%(seen)s::integer[] is null or d.source_queue_id = any(%(seen)s))
limit 1
