-- Messages that an erasure has to look at again: held by a consumer or another transaction, or last looked at before a
-- transaction.
select f.message_id, f.queue_id
from signalbox.erasure_find f
where f.erasure_id = %s and f.open and f.message_id > %s
  and (f.became in ('in_work', 'busy') or f.looked_in < cast(%s as text)::xid8)
order by f.message_id
limit %s
