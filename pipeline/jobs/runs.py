"""Lifecycle of runs: one process at a time for each kind; a run is begun, then committed, failed or cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from django.db import DatabaseError, connection
from django.db.models import F
from django.db.models.functions import Now

from pipeline.errors import Busy, Cancelled, PipelineError
from pipeline.models import Run
from queues.database.connections import session_dsn
from signalbox.connections import primary_selection
from signalbox.logs import in_brief

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECK_SECONDS = 1.0


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold an advisory lock of this name within the block. Raises `Busy` when another process holds it.

    The lock belongs to a database session, and ends with it, even after kill -9.
    """
    with primary_selection.connect(session_dsn(), autocommit=True, application_name=name) as session:
        row = session.execute("select pg_try_advisory_lock(hashtext(%s), 0)", [name]).fetchone()
        if not row or not row[0]:
            raise Busy
        try:
            yield
        finally:
            # PostgreSQL may end a closed session late; the next run must not wait for that.
            with suppress(psycopg.OperationalError):
                session.execute("select pg_advisory_unlock(hashtext(%s), 0)", [name])


def reason(error: Exception) -> str:
    """Return the message of an error for people."""
    return str(error) if isinstance(error, PipelineError) else in_brief(error)


def fail(run: Run, error: Exception) -> None:
    """Mark a run as failed or cancelled, so that its results do not count."""
    state = Run.State.CANCELLED if isinstance(error, Cancelled) else Run.State.FAILED
    running = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
    running.update(state=state, error=reason(error), finished_at=Now(), seen_at=Now())


Fail = Callable[[Run, Exception], object]


def fail_dead(kind: Run.Kind, fail: Fail = fail) -> None:
    """Fail running runs of this kind. Their processes are dead, because the caller holds the lock of the kind."""
    for run in Run.objects.filter(kind=kind, state=Run.State.RUNNING):
        fail(run, PipelineError("The process of the run died; its results do not count."))


@contextmanager
def begun(kind: Run.Kind, actor: str, url: str = "", fail: Fail = fail, steps: Sequence[str] = ()) -> Iterator[Run]:
    """Begin a run with these steps; an error within the block marks it as failed."""
    parts = [{"step": step, "rows": 0} for step in steps]
    run = Run.objects.create(kind=kind, token="", url=url, parts=parts, started_by=actor)
    run.refresh_from_db()
    try:
        yield run
    except Exception as error:
        fail(run, error)
        raise
    run.refresh_from_db()


def commit(run: Run, rows: int, outcome: Mapping[str, Any], cancelled: str = "", **more: Any) -> None:
    """Commit a run in the transaction of its results. Raises `Cancelled` when that was requested before."""
    if Run.objects.select_for_update().get(pk=run.pk).cancel_requested:
        raise Cancelled(cancelled)
    done = {"state": Run.State.COMMITTED, "outcome": outcome, "finished_at": Now(), "seen_at": Now()}
    Run.objects.filter(pk=run.pk).update(rows=rows, **done, **more)


def raise_if_cancelled(kind: str, cancelled: str = "") -> None:
    """Raise `Cancelled` when a person cancelled the running run of this kind; there is at most one."""
    if Run.objects.filter(kind=kind, state=Run.State.RUNNING, cancel_requested=True).exists():
        raise Cancelled(cancelled)


def note_step(run: Run) -> None:
    """Record that a running run has finished one of its steps."""
    Run.objects.filter(pk=run.pk).update(parts_done=F("parts_done") + 1, seen_at=Now())


def note_progress(run: Run) -> None:
    """Record that a running run has made progress. Without such reports, pages show the run as stalled."""
    Run.objects.filter(pk=run.pk).update(seen_at=Now())


@contextmanager
def interrupted_when_cancelled(kind: str, spark: SparkSession) -> Iterator[None]:
    """Interrupt the queries of this session when the run is cancelled; the block then raises `Cancelled`."""
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(kind, spark, ended), daemon=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        try:
            raise_if_cancelled(kind)
        except Cancelled as cancelled:
            raise cancelled from error
        raise
    finally:
        ended.set()
        watcher.join()
    raise_if_cancelled(kind)


def _watch(kind: str, spark: SparkSession, ended: threading.Event) -> None:
    """Check for a cancellation each second. It interrupts repeatedly: a query may begin just after an interrupt."""
    while not ended.wait(CHECK_SECONDS):
        try:
            raise_if_cancelled(kind)
        except Cancelled:
            spark.interruptAll()
        except DatabaseError:
            continue  # the run's own queries report the error
        finally:
            connection.close()
