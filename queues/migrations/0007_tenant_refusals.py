"""What a tenant's quotas refuse that is no send: queues, retention, long polls. Counted by sequences, like refused sends,
since what is refused rolls back."""

from django.db import migrations

TABLE = """
create table signalbox.tenant_refusal (
  tenant_id integer not null,
  reason text not null,
  counter regclass not null,
  primary key (tenant_id, reason)
);
"""

# Tenants that have such quotas already; for those that get one a trigger does it, which is installed after migrations.
COUNTERS = """
do $$
declare
  v_new record;
begin
  for v_new in
    select t.tenant_id, r.reason, format('tenant_refused_%s_%s', t.tenant_id, r.reason) as counter
    from signalbox.tenant t, lateral (values
      ('queues', t.max_queues > 0), ('retention', t.max_retention_seconds > 0), ('long_polls', t.max_long_polls > 0)
    ) r(reason, limited)
    where r.limited
  loop
    execute format('create sequence signalbox.%I minvalue 0 start 1', v_new.counter);
    insert into signalbox.tenant_refusal values (v_new.tenant_id, v_new.reason, ('signalbox.' || v_new.counter)::regclass);
  end loop;
end $$;
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0006_lanes_deeper")]
    operations = [migrations.RunSQL(statements) for statements in (TABLE, COUNTERS)]
