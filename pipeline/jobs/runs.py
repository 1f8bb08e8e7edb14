"""The life of a run: one process at a time, begun, then committed, failed or cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from django.db import DatabaseError, connection
from django.db.models.functions import Now

from pipeline.errors import Busy, Cancelled, PipelineError
from pipeline.models import Run
from queues.database.connections import session_dsn
from signalbox.connections import primary_selection
from signalbox.logs import in_brief

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_SECONDS = 1.0


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Let one process at a time go on. Raises `Busy` for another. The lock goes with the session, however it ends."""
    with primary_selection.connect(session_dsn(), autocommit=True, application_name=name) as session:
        row = session.execute("select pg_try_advisory_lock(hashtext(%s), 0)", [name]).fetchone()
        if not row or not row[0]:
            raise Busy
        try:
            yield
        finally:
            # The server ends a session that was closed in its own time; the next run need not wait for that.
            with suppress(psycopg.OperationalError):
                session.execute("select pg_advisory_unlock(hashtext(%s), 0)", [name])


def reason(error: Exception) -> str:
    """Say what went wrong, for people."""
    return str(error) if isinstance(error, PipelineError) else in_brief(error)


def fail(run: Run, error: Exception) -> None:
    """Mark a run as failed or cancelled: nothing of it counts."""
    state = Run.State.CANCELLED if isinstance(error, Cancelled) else Run.State.FAILED
    running = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
    running.update(state=state, error=reason(error), finished_at=Now(), seen_at=Now())


Fail = Callable[[Run, Exception], object]


def fail_dead(kind: Run.Kind, fail: Fail = fail) -> None:
    """Fail runs of this kind that are under way, while the caller holds the lock of the kind: their process died."""
    for run in Run.objects.filter(kind=kind, state=Run.State.RUNNING):
        fail(run, PipelineError("Its process died; nothing of it counts."))


@contextmanager
def begun(kind: Run.Kind, actor: str, url: str = "", fail: Fail = fail) -> Iterator[Run]:
    """Begin a run, which an error within the block fails."""
    run = Run.objects.create(kind=kind, token="", url=url, parts=[], started_by=actor)
    run.refresh_from_db()
    try:
        yield run
    except Exception as error:
        fail(run, error)
        raise
    run.refresh_from_db()


def commit(run: Run, rows: int, outcome: Mapping[str, Any], cancelled: str = "", **more: Any) -> None:
    """Commit a run in the transaction of its results. Raises `Cancelled`; from here on it is too late to ask."""
    if Run.objects.select_for_update().get(pk=run.pk).cancel_requested:
        raise Cancelled(cancelled)
    done = {"state": Run.State.COMMITTED, "outcome": outcome, "finished_at": Now(), "seen_at": Now()}
    Run.objects.filter(pk=run.pk).update(rows=rows, **done, **more)


def heed(kind: str, cancelled: str = "") -> None:
    """Raise `Cancelled` when the run of this kind is asked to stop; at most one run of a kind is under way."""
    if Run.objects.filter(kind=kind, state=Run.State.RUNNING, cancel_requested=True).exists():
        raise Cancelled(cancelled)


def note_progress(run: Run) -> None:
    """Record that a running run has made progress: without it, its page shows the run as stalled."""
    Run.objects.filter(pk=run.pk).update(seen_at=Now())


@contextmanager
def heeding(kind: str, spark: SparkSession) -> Iterator[None]:
    """Interrupt this session when the run is cancelled: the block then raises `Cancelled`."""
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
    """Interrupt repeatedly, since a query may begin just after an interrupt."""
    while not over.wait(LOOK_SECONDS):
        try:
            heed(kind)
        except Cancelled:
            spark.interruptAll()
        except DatabaseError:
            continue  # the work itself will fail too
        finally:
            connection.close()
