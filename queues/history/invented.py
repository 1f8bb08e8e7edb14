"""An invented history of two weeks, for the charts of a demo.

An audit row says up to when the history is made up; charts and pages show that moment.

Each queue gets the traffic that its rate says, with nights, some noise and, every third day, an afternoon on which its
consumers were slow. The numbers of tenants and of all queues are the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from queues import audit
from queues.database.query import query_text
from queues.models import AuditEvent

ACTION = "history.invent"

TABLES = (
    ("queue_history", 10, "1 hour"),
    ("queue_history_minute", 60, "1 day"),
    ("queue_history_ten_minutes", 600, "14 days"),
)


def invent(rates: Mapping[str, float]) -> bool:
    """Write history for queues with these rates (messages per second), unless some exists; return whether it did."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select exists (select from signalbox.history_record)")
        if cursor.fetchone()[0]:
            return False
        cursor.execute(_PARTITIONS)
        for table, step, reach in TABLES:
            parameters: dict[str, Any] = {"step": step, "reach": reach}
            traffic: dict[str, Any] = {"names": list(rates), "rates": list(rates.values())}
            cursor.execute(_INVENTED.replace("{table}", table), parameters | traffic)
            cursor.execute(_SUMS.replace("{table}", table))
            cursor.execute(_RECORDS, parameters)
        audit.record("demo", ACTION, reason="History is made up, so that the charts of the demo have a past.")
    return True


def end_of_invention() -> datetime | None:
    """Return the moment up to which the history is made up; None if upkeep recorded the whole history."""
    made = AuditEvent.objects.filter(action=ACTION).order_by("-audit_event_id")
    return made.values_list("at", flat=True).first()


_PARTITIONS = query_text("invented_history/partitions")

_INVENTED = query_text("invented_history/queues")

_SUMS = query_text("invented_history/sums")

_RECORDS = query_text("invented_history/records")
