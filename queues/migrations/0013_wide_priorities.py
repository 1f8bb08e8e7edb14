"""Priorities from 0 to 32,767: the codes of tables in `claim_floor` make room for them.

Between this and the installation of the new functions, old ones take the new codes for priorities without messages.
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "wide_priorities.sql"
BACK = "update signalbox.claim_floor set kind = 9 - kind, floor = null where kind between -4 and -1"


class Migration(migrations.Migration):
    dependencies = [("queues", "0012_message_limits")]
    operations = [migrations.RunSQL(TABLES.read_text(), BACK)]
