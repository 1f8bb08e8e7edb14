"""Which servers this database has been served by: a new one is noticed (queues/sql/notice_promotion.sql), and numbers that
the one before may have given out are left out.
"""

from django.db import migrations

PROMOTION = """
create table signalbox.promotion (
  cluster bigint not null,
  epoch integer not null,
  noticed_at timestamptz not null default clock_timestamp(),
  first_message_id bigint,
  primary key (cluster, epoch)
);
insert into signalbox.promotion (cluster, epoch)
select c.system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
from pg_control_system() c;
"""

BACK = """
delete from signalbox.sql_script where name = 'notice_promotion';
drop table signalbox.promotion;
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0019_archive_trial")]
    operations = [migrations.RunSQL(PROMOTION, BACK)]
