"""An archive may ask history to wait: up to which transaction it has what the queues did, and failures that say in which they
were written, as `settled` has from the beginning.

A constant default and a new one after it: failures of before are 0, and no row is written anew.
"""

from django.db import migrations

FAILURES = """
alter table signalbox.failure add column txid bigint not null default 0;
alter table signalbox.failure alter column txid set default (pg_current_xact_id()::text::bigint);
create index failure_txid on signalbox.failure using brin (txid) with (pages_per_range = 16);
"""

# Partitions that are there keep their own default unless they are told.
PARTITIONS = """
do $partitions$
declare
  v_partition regclass;
begin
  for v_partition in select inhrelid from pg_inherits where inhparent = 'signalbox.failure'::regclass loop
    execute format('alter table %s alter column txid set default (pg_current_xact_id()::text::bigint)', v_partition);
  end loop;
end $partitions$;
"""

HORIZON = """
create table signalbox.archive_horizon (
  only_row boolean primary key default true check (only_row),
  below bigint not null,
  moved_at timestamptz not null,
  holds boolean not null default true
);
"""

BACK = """
drop table signalbox.archive_horizon;
alter table signalbox.failure drop column txid;
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0016_streams")]
    operations = [
        migrations.RunSQL(FAILURES, migrations.RunSQL.noop),
        migrations.RunSQL(PARTITIONS, migrations.RunSQL.noop),
        migrations.RunSQL(HORIZON, BACK),
    ]
