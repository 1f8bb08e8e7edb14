"""The engine: tables, sequences and triggers that SQL functions write, never Django's models.

Each file in `tables/` has one noun; the order below is the order to read them in. Functions and views are in
`queues/sql/` and are installed after every migration (queues/database/sql_scripts.py).
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables"
ORDER = [
    "installation",  # scripts, setting definitions, secret, server
    "queues",  # the first tenant, former names of queues
    "messages",  # the log, its segments, state, large bodies
    "deliveries",  # claim floors; ready, scheduled, in flight; consumers
    "message_groups",  # waiting messages, permits, promotion
    "admission",  # deduplication and quotas
    "counters",  # counter deltas and totals
    "history",  # outcomes, failures, numbers over time
    "dead_letters",  # dead letters, redriven messages, trash
    "failure_groups",  # counts by fingerprint
    "streams",  # streams, consumer groups, offsets
    "celery",  # mailboxes and bindings
    "staged_writes",  # batches of many writers
    "audit",  # the chain of hashes
    "archive",  # archived history, erasures
]


class Migration(migrations.Migration):
    dependencies = [("queues", "0001_initial")]
    operations = [migrations.RunSQL((TABLES / f"{noun}.sql").read_text()) for noun in ORDER]
