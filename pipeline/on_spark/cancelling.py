"""A cancel that reaches what Spark has under way: it is interrupted instead of going on to the end of its round."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import DatabaseError, connection

from pipeline.errors import Cancelled
from pipeline.models import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_SECONDS = 1.0


def heed(kind: str) -> None:
    """Raise `Cancelled` when somebody asked the run of this kind to stop; there is never more than one."""
    if Run.objects.filter(kind=kind, state=Run.State.RUNNING, cancel_requested=True).exists():
        raise Cancelled


@contextmanager
def heeding(kind: str, spark: SparkSession) -> Iterator[None]:
    """Work in this session, of which a cancel interrupts all: the block then raises `Cancelled`."""
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(kind, spark, over), daemon=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        try:
            heed(kind)
        except Cancelled as cancelled:
            raise cancelled from error
        raise
    finally:
        over.set()
        watcher.join()
    heed(kind)


def _watch(kind: str, spark: SparkSession, over: threading.Event) -> None:
    """Again and again, since what is interrupted may only just be about to begin."""
    while not over.wait(LOOK_SECONDS):
        try:
            heed(kind)
        except Cancelled:
            spark.interruptAll()
        except DatabaseError:
            continue  # whoever works will notice
        finally:
            connection.close()
