-- Checks that the verbs of a stream make for it: bits as in queue.admission_flags. Most streams have none.
alter table signalbox.stream add column admission_flags smallint not null default 0;
-- The trigger that sets the flags is installed after this migration: 1 limits sending.
update signalbox.stream s set admission_flags = 1
from signalbox.tenant t
where t.tenant_id = s.tenant_id and t.publish_rate_per_second > 0;
