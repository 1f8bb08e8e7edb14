"""Queues and streams as a data source of Spark's: `spark.read.format("signalbox")`, and written the same way.

import signalbox.spark  # enters the format in the session that is active; `register` enters it in another

Needs what the extra `spark` installs, on the executors too. See docs/spark.md.
"""

from __future__ import annotations

from typing import Any

from signalbox.spark.source import SignalboxSource

__all__ = ["SignalboxSource", "register"]


def register(spark: Any) -> None:
    """Enter the format in this session, of Spark's own or of Connect's. Doing it again changes nothing."""
    spark.dataSource.register(SignalboxSource)


def _register_where_active() -> None:
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        register(active)


_register_where_active()
