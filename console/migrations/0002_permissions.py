"""Permissions for sending, pausing, pipeline runs, masking, erasures and maintenance, apart from the others."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("console", "0001_initial")]
    operations = [
        migrations.AlterModelOptions(
            name="access",
            options={
                "permissions": (
                    ("see_metadata", "Viewing queues and metrics"),
                    ("see_payloads", "Viewing payloads, attributes and stacks"),
                    ("send", "Sending"),
                    ("redrive", "Redriving and triaging dead letters"),
                    ("silence", "Silencing alerts"),
                    ("pause", "Pausing and resuming queues"),
                    ("purge", "Purging, deleting and restoring messages"),
                    ("purge_any", "Purging, deleting and restoring any number of messages"),
                    ("approve", "Deciding on approvals"),
                    ("reveal", "Revealing masked fields"),
                    ("configure", "Changing queues, streams and quotas"),
                    ("archive", "Starting and cancelling pipeline runs"),
                    ("mask", "Managing masking rules"),
                    ("erase", "Managing erasure requests"),
                    ("maintain", "Managing maintenance mode"),
                    ("administer", "Managing people and access"),
                ),
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]
