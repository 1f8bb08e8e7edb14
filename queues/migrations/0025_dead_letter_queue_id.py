"""The dead-letter queue of a queue, by id: a name can be taken by another tenant, or change.

Going back leaves column and table: until the scripts of that version are installed, verbs go on asking them.
Each queue that keeps no dead letters has an id reserved for its dead-letter queue, until its row is made on first need.
`former_dead_letter_queue` lists where the dead letters of a queue went before its settings were changed.
"""

from django.db import migrations, models

TABLES = """
alter table signalbox.queue add column if not exists dead_letter_queue_id integer;
create index if not exists queue_dead_letter_queue on signalbox.queue (dead_letter_queue_id);

create table if not exists signalbox.former_dead_letter_queue (
  queue_id integer not null,
  source_queue_id integer not null,
  primary key (queue_id, source_queue_id)
);
create index if not exists former_dead_letter_queue_source on signalbox.former_dead_letter_queue (source_queue_id);
"""

# The engine's functions of the release before go by names until the new ones are installed; they leave the id alone.
LINKS = """
alter table signalbox.queue alter column dead_letter_queue_id set default nextval('signalbox.queue_queue_id_seq'::regclass);

update signalbox.queue q
set dead_letter_queue_id = case when not q.is_dead_letter_queue or q.dead_letter_queue is not null then coalesce(
  (
    select d.queue_id
    from signalbox.queue d
    where d.name = coalesce(q.dead_letter_queue, q.name || '-dlq') and d.tenant_id = q.tenant_id and d.queue_id <> q.queue_id
      and (d.is_dead_letter_queue or d.mode <> 'fifo' and d.lane_max_in_flight = 0)
  ),
  (
    select d.queue_id
    from signalbox.queue d
    where d.name = left(coalesce(q.dead_letter_queue, q.name || '-dlq'), 88) || '-' || q.queue_id
      and d.tenant_id = q.tenant_id and d.is_dead_letter_queue
  ),
  (
    select d.queue_id
    from signalbox.queue_alias a
    join signalbox.queue d on d.queue_id = a.queue_id
    where a.name = coalesce(q.dead_letter_queue, q.name || '-dlq')
      and d.tenant_id = q.tenant_id and d.queue_id <> q.queue_id and d.is_dead_letter_queue
  ),
  q.dead_letter_queue_id,
  nextval('signalbox.queue_queue_id_seq')
) end;

insert into signalbox.former_dead_letter_queue (queue_id, source_queue_id)
select distinct d.queue_id, d.source_queue_id
from signalbox.dead_letter d
where d.queue_id <> d.source_queue_id
union
select distinct (t.letter ->> 'queue_id')::integer, t.queue_id
from signalbox.trash t
where t.letter is not null and (t.letter ->> 'queue_id')::integer <> t.queue_id
on conflict do nothing;
"""

STATE = [
    migrations.AddField("queue", "dead_letter_queue_id", models.IntegerField(null=True)),
    migrations.AddIndex("queue", models.Index(fields=["dead_letter_queue_id"], name="queue_dead_letter_queue")),
]


class Migration(migrations.Migration):
    # Each statement is a transaction and may be repeated: reading all dead letters must not lock the queues.
    atomic = False
    dependencies = [("queues", "0024_former_queues")]
    operations = [migrations.RunSQL(TABLES + LINKS, migrations.RunSQL.noop, state_operations=STATE)]
