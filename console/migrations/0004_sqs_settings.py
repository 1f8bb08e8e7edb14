"""Move what SQS clients set of waits and of the size of messages to the settings of the queues."""

from __future__ import annotations

from typing import Any

from django.db import migrations

WAIT, SIZE = "ReceiveMessageWaitTimeSeconds", "MaximumMessageSize"
LOG_BYTES, SQS_BYTES = 262_144, 1_048_576


def settings_of(kept: dict[str, str]) -> dict[str, Any]:
    """Return the settings for what was kept."""
    found: dict[str, Any] = {}
    if WAIT in kept:
        found["receive_wait_seconds"] = float(kept[WAIT])
    if SIZE in kept:
        size = int(kept[SIZE])
        found["max_payload_bytes"] = min(size, LOG_BYTES)
        found["max_large_body_bytes"] = size if LOG_BYTES <= size < SQS_BYTES else 0
    return found


def move(apps: Any, _editor: Any = None) -> None:
    """Move the attributes of every queue that has them."""
    queues = apps.get_model("queues", "Queue").objects
    for row in apps.get_model("console", "SqsQueue").objects.filter(attributes__has_any_keys=[WAIT, SIZE]):
        queues.filter(queue_id=row.queue_id).update(**settings_of(row.attributes))
        row.attributes = {name: value for name, value in row.attributes.items() if name not in (WAIT, SIZE)}
        row.save(update_fields=["attributes"])


class Migration(migrations.Migration):
    dependencies = [("console", "0003_sqs"), ("queues", "0019_queue_waits_and_bodies")]
    operations = [migrations.RunPython(move, migrations.RunPython.noop)]
