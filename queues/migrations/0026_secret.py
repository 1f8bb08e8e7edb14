"""The key with which a transaction signs what it notes for itself in a setting, so that no session can make such a note up."""

from django.db import migrations

TABLE = """
create table if not exists signalbox.secret (
  singleton boolean primary key default true check (singleton),
  key text not null default gen_random_uuid()::text || gen_random_uuid()
);
insert into signalbox.secret default values on conflict do nothing;
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0025_dead_letter_queue_id")]
    operations = [migrations.RunSQL(TABLE, "drop table if exists signalbox.secret")]
