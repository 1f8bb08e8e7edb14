"""Which Spark a job runs in: a Java of its own, a cluster, or the server that this machine keeps for the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings

from pipeline.on_spark import server, sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RETRIES = 5
"""Some 17 seconds."""


@contextmanager
def chosen(master: str, options: Mapping[str, object], owner: int | None) -> Iterator[SparkSession]:
    """A session; without an owner, which may be 0, or with another master than this machine, not of the kept server."""
    if owner is None or not master.startswith(sessions.LOCAL) or not settings.SPARK_SERVER_IDLE_SECONDS:
        with sessions.session(master, options, settings.SPARK_CLASSES) as session:
            yield session
        return
    place = server.Place(settings.SIGNALBOX_HOME)
    with server.use(place, owner) as url, sessions.session(url, options) as session:
        _give_up_soon(session)
        yield session


def _give_up_soon(session: Any) -> None:
    """A server of this machine that does not answer has died, and would be waited for in vain."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
