"""An invented history of two weeks, for the charts of a demo.

Each queue gets the traffic that its rate says, with nights, some noise and, every third day, an afternoon on which its
consumers were slow. The numbers of tenants and of all queues are the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction

from queues.database.query import query_text

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
    return True


_PARTITIONS = query_text("invented_history/partitions")

_INVENTED = query_text("invented_history/queues")

_SUMS = query_text("invented_history/sums")

_RECORDS = query_text("invented_history/records")
