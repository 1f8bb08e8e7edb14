"""What the row of an erasure keeps beside what every job has (`dlq.models.Erasure`)."""

from __future__ import annotations

from typing import Any

from django.db import models

MAX_ROWS_PER_SECOND = 1_000_000
USUAL_ROWS_PER_SECOND = 20_000


class Erasing(models.Model):
    """What is searched for, where it stands, and what came of it.

    `value` is what is to be erased, in clear: the job needs it until it is over, and it goes then.
    """

    class Live(models.TextChoices):
        HOLD = "hold"
        REDACT = "redact"
        DELETE = "delete"

    part = models.CharField(max_length=10)
    path = models.CharField(max_length=200)
    value = models.TextField(db_default="", help_text="Empty once the job is over.")
    value_digest = models.CharField(max_length=16, help_text="Of path and value, under a key: the same for the same.")
    live = models.CharField(max_length=10, choices=Live.choices, db_default=Live.HOLD)
    only_counts = models.BooleanField(db_default=False, help_text="It looks, and changes nothing.")
    queue_names: models.JSONField[Any, Any] = models.JSONField(db_default=[], help_text="Empty: all.")
    queue_ids: models.JSONField[Any, Any] = models.JSONField(null=True, help_text="As of the beginning.")
    tenant_name = models.CharField(max_length=100, db_default="")
    since = models.DateTimeField(null=True, help_text="Of what was sent from then on.")
    until = models.DateTimeField(null=True)
    through_message_id = models.BigIntegerField()
    through_dead_letter_id = models.BigIntegerField()
    rows_per_second = models.IntegerField(db_default=USUAL_ROWS_PER_SECOND)
    slice_rows = models.IntegerField(db_default=1_000, help_text="So many at a time; it follows how long they take.")
    place = models.CharField(max_length=30, db_default="", help_text="Where it is now; empty: at the beginning.")
    cursor: models.JSONField[Any, Any] = models.JSONField(db_default=[], help_text="Up to which key of the place.")
    looked = models.BigIntegerField(db_default=0)
    found = models.BigIntegerField(db_default=0, help_text="Rows that have the value.")
    places: models.JSONField[Any, Any] = models.JSONField(db_default={}, help_text="For each place what was counted.")
    states: models.JSONField[Any, Any] = models.JSONField(db_default={}, help_text="Where what was found stood.")
    became: models.JSONField[Any, Any] = models.JSONField(db_default={}, help_text="What messages are now.")
    remarks: models.JSONField[Any, Any] = models.JSONField(db_default={}, help_text="What could not be done.")
    note = models.CharField(max_length=500, db_default="", help_text="What it waits for.")

    class Meta:
        abstract = True

    @property
    def scope_words(self) -> str:
        """Where it looks, for people."""
        where = ", ".join(self.queue_names) or (
            f"the queues of {self.tenant_name}" if self.tenant_name else "everywhere"
        )
        times = [f"from {self.since:%Y-%m-%d %H:%M} UTC" if self.since else ""]
        times.append(f"before {self.until:%Y-%m-%d %H:%M} UTC" if self.until else "")
        return ", ".join([where, *(words for words in times if words)])
