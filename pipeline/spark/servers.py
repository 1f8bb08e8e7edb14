"""Rows about the kept Spark servers of all machines, which their keepers write and the console shows."""

from __future__ import annotations

import logging
import os
import socket
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection, models
from django.db.models.functions import Now

from pipeline.spark.keeper import REPORT_SECONDS, Life, Report
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

LOST = timedelta(seconds=12 * REPORT_SECONDS)
"""A server whose last report is older than this has lost its keeper."""


class Server(models.Model):
    """A kept Spark server, from the start of its process to the end."""

    server_id = models.BigAutoField(primary_key=True)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    idle_seconds = models.IntegerField()  # seconds without a job after which it ends
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())
    busy = models.BooleanField(db_default=False)
    jobs = models.BigIntegerField(db_default=0)  # number of jobs that it has run
    ended_at = models.DateTimeField(null=True)
    ended = models.TextField(db_default="")  # why it ended

    class Meta:
        db_table = "pipeline_server"
        app_label = "pipeline"
        indexes = [models.Index(fields=["-seen_at"], name="pipeline_server_seen")]

    def __str__(self) -> str:
        return f"process {self.pid} of {self.host}"

    def is_lost(self, now: datetime) -> bool:
        return self.ended_at is None and now - self.seen_at > LOST


def latest() -> Server | None:
    """Find the server with the newest report."""
    return Server.objects.order_by("-seen_at").first()


def recorder() -> Report:
    """Make a function that writes a keeper's reports to a row; it logs database errors and does not raise them."""
    row = Server(host=socket.gethostname()[:255], pid=os.getpid(), idle_seconds=settings.SPARK_SERVER_IDLE_SECONDS)

    def report(life: Life) -> None:
        try:
            _write(row, life)
        except DatabaseError as error:
            log.warning("the report of the Spark server was not stored: %s", in_brief(error))
        finally:
            connection.close()

    return report


def _write(row: Server, life: Life) -> None:
    if row._state.adding:
        row.save()
    used = Now() - timedelta(seconds=life.idle_seconds)
    ended_at = Now() if life.ended else None
    Server.objects.filter(pk=row.pk).update(
        seen_at=Now(), used_at=used, busy=life.busy, jobs=life.jobs, ended=life.ended, ended_at=ended_at
    )
