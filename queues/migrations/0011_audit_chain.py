"""The audit becomes a chain: every row has the hash of the one before and its own, and is only ever added.

The rows that are there are chained in their order. The hash is that of queues/sql/_seal_audit.sql, in its own words:
functions are installed after the migrations.
"""

from django.db import migrations, models

COLUMNS = """
create table signalbox.audit_head (
  only_row boolean primary key default true check (only_row),
  position bigint not null,
  hash bytea not null
);
insert into signalbox.audit_head (position, hash) values (0, decode(repeat('00', 32), 'hex'));
create index audit_event_details on signalbox.audit_event using gin (details jsonb_path_ops);
"""

CHAIN = """
do $chain$
declare
  v_event signalbox.audit_event;
  v_position bigint := 0;
  v_hash bytea := decode(repeat('00', 32), 'hex');
  v_before bytea;
begin
  for v_event in select * from signalbox.audit_event e order by e.audit_event_id loop
    v_position := v_position + 1;
    v_before := v_hash;
    v_hash := sha256(v_before || convert_to(jsonb_build_array(
      v_position, v_event.audit_event_id, (extract(epoch from v_event.at) * 1000000)::bigint, v_event.actor, v_event.action,
      v_event.queue_id, v_event.queue_name, v_event.reason, v_event.details
    )::text, 'UTF8'));
    update signalbox.audit_event e
    set position = v_position, previous_hash = v_before, hash = v_hash
    where e.audit_event_id = v_event.audit_event_id;
  end loop;
  update signalbox.audit_head set position = v_position, hash = v_hash;
end $chain$;
"""

UNCHAIN = """
drop table signalbox.audit_head;
drop index signalbox.audit_event_details;
drop trigger if exists zz_audit_seal on signalbox.audit_event;
drop trigger if exists audit_keep on signalbox.audit_event;
drop trigger if exists audit_keep_all on signalbox.audit_event;
delete from signalbox.sql_script where name = '_seal_audit';
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0010_trash")]
    operations = [
        # No foreign key: a queue that goes must not change what was written of it.
        migrations.AlterField(
            "auditevent",
            "queue",
            models.ForeignKey(
                "queues.queue",
                on_delete=models.DO_NOTHING,
                db_constraint=False,
                null=True,
                related_name="audit_events",
            ),
        ),
        migrations.AddField("auditevent", "position", models.BigIntegerField(null=True, unique=True)),
        migrations.AddField("auditevent", "previous_hash", models.BinaryField(null=True)),
        migrations.AddField("auditevent", "hash", models.BinaryField(null=True)),
        migrations.RunSQL(COLUMNS, UNCHAIN),
        migrations.RunSQL(CHAIN, migrations.RunSQL.noop),
    ]
