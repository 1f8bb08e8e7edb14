"""Audit rows say which role of the database wrote them, and a sequence carries the grants of registers made later.

Rows from before have neither column filled, and keep the hash that they have (queues/sql/_seal_audit.sql). Going back
leaves both: until the scripts of that version are installed, functions go on filling the columns.
"""

from django.db import migrations, models

COLUMNS = """
alter table signalbox.audit_event
  add column if not exists database_role text, add column if not exists application_name text;
"""

# Nothing draws from it. What a role may do with it, it may do with each sequence that verbs count by, also with those of
# queues and streams that are made later (queues/sql/_share.sql).
REGISTER = "create sequence if not exists signalbox.register_grants minvalue 0 start 0;"


class Migration(migrations.Migration):
    dependencies = [("queues", "0026_secret")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(COLUMNS + REGISTER, migrations.RunSQL.noop)],
            state_operations=[
                migrations.AddField("auditevent", "database_role", models.TextField(null=True)),
                migrations.AddField("auditevent", "application_name", models.TextField(null=True)),
            ],
        ),
    ]
