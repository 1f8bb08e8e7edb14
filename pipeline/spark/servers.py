"""The kept Spark servers of all machines as rows, which their keepers write, for people to see."""

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
"""After so long without a report a server has lost its keeper."""


class Server(models.Model):
    """One life of a kept server, from its first report to its last."""

    server_id = models.BigAutoField(primary_key=True)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    idle_seconds = models.IntegerField(help_text="After so long without a job it ends.")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())
    busy = models.BooleanField(db_default=False)
    jobs = models.BigIntegerField(db_default=0, help_text="How many have begun in it.")
    ended_at = models.DateTimeField(null=True)
    ended = models.TextField(db_default="", help_text="Why it ended.")

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
    """Make a function that writes reports into a row. A database that is away is no reason for a server to end."""
    row = Server(host=socket.gethostname()[:255], pid=os.getpid(), idle_seconds=settings.SPARK_SERVER_IDLE_SECONDS)

    def report(life: Life) -> None:
        try:
            _write(row, life)
        except DatabaseError as error:
            log.warning("the Spark server is not recorded: %s", in_brief(error))
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
