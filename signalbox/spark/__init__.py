"""Queues and streams as a data source of Spark: `spark.read.format("signalbox")`, and the same for writes.

import signalbox.spark  # registers the format in the active session; `register` does so in another

The extra `spark` must be installed, on the executors too. See docs/use/spark.md.
"""

from __future__ import annotations

from typing import Any

from signalbox.spark.source import SignalboxSource

__all__ = ["SignalboxSource", "register"]


def register(spark: Any) -> None:
    """Register the format in a session of Spark or of Spark Connect. A repeated call changes nothing."""
    spark.dataSource.register(SignalboxSource)


def _register_where_active() -> None:
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        register(active)


_register_where_active()
