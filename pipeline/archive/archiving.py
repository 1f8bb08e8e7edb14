"""Archive runs: a window is fixed and written down, its parts become files, and the manifest is the commit point.

Whatever dies, the row says what is to be done again; doing it again puts the same rows into files of the same names.
One process at a time: the lock is the session's, and goes with it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db.models.functions import Now

from pipeline.alone import alone
from pipeline.archive import horizon, manifest
from pipeline.archive.extracting import Job, Written
from pipeline.archive.files import Store, canonical
from pipeline.archive.parts import Part, Window, cut
from pipeline.errors import Cancelled, Elsewhere, PipelineError
from pipeline.models import ArchiveFile, Run
from queues.connections import session_dsn
from signalbox.epochs import address_of_one
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

RUN_ROWS = 4_000_000
"""What a kill throws away is less than this, and the horizon moves on after each."""
PART_ROWS = 250_000

Execute = Callable[[Job, Sequence[Part]], Iterable[Written]]
"""Writes parts, at once where there is room, and says so of each file when its part is done (`on_spark.at_once`)."""
Tell = Callable[[Run], object]


@dataclass(frozen=True)
class Archived:
    """What one call of `archive` did."""

    url: str
    runs: Sequence[Run]
    rows: int
    bytes: int
    files: int
    horizon: int


def archive(
    url: str,
    *,
    actor: str,
    execute: Execute,
    tell: Tell = lambda run: None,
    run_rows: int = RUN_ROWS,
    part_rows: int = PART_ROWS,
) -> Archived:
    """Bring the archive at `url` up to the oldest transaction that is under way now.

    Raises `PipelineError`, or `NoStore` where the address can be none.
    """
    url = canonical(url)
    Store(url)  # an address that cannot be one is refused before anything waits for it
    done: list[Run] = []
    with alone("signalbox.archive"), _holding_only_what_works(done):
        begun = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING).first()
        if begun is not None and begun.cancel_requested:
            _give_up(begun)
        elif begun is not None:
            done.append(_run(_taken_up(begun, url), execute, tell))
        until = horizon.due()[1]
        while (low := horizon.due()[0]) < until:
            counts = horizon.counts(low, until)
            if not counts:
                horizon.move(low, until)
                break
            window = cut(low, until, counts, run_rows, part_rows)
            done.append(_run(_opened(window, url, actor), execute, tell))
    files = ArchiveFile.objects.filter(run__in=done).count()
    return Archived(url, done, sum(run.rows for run in done), sum(run.bytes for run in done), files, until)


def cancel(run_id: int) -> bool:
    """Ask a run to stop between two parts; nothing of it will count. False when it is over."""
    return bool(Run.objects.filter(pk=run_id, state=Run.State.RUNNING).update(cancel_requested=True))


@contextmanager
def _holding_only_what_works(done: Sequence[Run]) -> Iterator[None]:
    """Where history did not wait for the archive and not a single run succeeds, it does not wait from now on either."""
    before = horizon.read()
    try:
        yield
    except Exception:
        if not done and (before is None or not before.holds):
            horizon.release()
        raise


def _give_up(run: Run) -> None:
    """A run that was cancelled after its process had died. Its address may be gone, and is no reason to keep it."""
    _end(run, Cancelled())
    try:
        _sweep(Store(run.url), run, _prefix(run))
    except Exception as error:
        log.warning("what run %d left behind could not be removed: %s", run.pk, in_brief(error))


def _opened(window: Window, url: str, actor: str) -> Run:
    run = Run.objects.create(
        token=secrets.token_hex(4),
        url=url,
        low=window.low,
        high=window.high,
        parts=[part.as_json() for part in window.parts],
        started_by=actor,
    )
    run.refresh_from_db()
    return run


def _taken_up(run: Run, url: str) -> Run:
    """A run whose process died: its window stands, and so does its address."""
    if canonical(run.url) != url:
        raise Elsewhere(f"run {run.pk} was begun to {run.url}: finish it there first, or cancel it")
    horizon.due()  # history waits again, if it had given up on a first run
    run.attempts, run.started_at, run.parts_done, run.rows = run.attempts + 1, Now(), 0, 0
    run.save()
    run.refresh_from_db()
    return run


def _run(run: Run, execute: Execute, tell: Tell) -> Run:
    parts, store, prefix = [Part(**part) for part in run.parts], Store(run.url), _prefix(run)
    try:
        written = _written(run, _job(run, prefix), parts, execute, tell)
        manifest.commit(run, parts, written, store)
    except Exception as error:
        _end(run, error)
        _sweep(store, run, prefix)
        raise
    if run.attempts > 1:
        _sweep(store, run, prefix)
    tell(run)
    return run


def _job(run: Run, prefix: str) -> Job:
    """Its tasks read the primary, or whichever server and role are named for them."""
    if settings.ARCHIVE_READ_URL:
        log_place = horizon.log_place()
        Run.objects.filter(pk=run.pk).update(seen_at=Now())  # behind which there is something now, so that it is passed
        return Job(settings.ARCHIVE_READ_URL, run.url, prefix, log_place)
    return Job(address_of_one(session_dsn()), run.url, prefix)


def _prefix(run: Run) -> str:
    """Of the names of its files."""
    return f"run-{run.pk:08}-{run.token}"


def _written(run: Run, job: Job, parts: Sequence[Part], execute: Execute, tell: Tell) -> list[Written]:
    """After each part that is done the row says how far it is, and the run may be stopped."""
    written: list[Written] = []
    done: set[int] = set()
    _heed(run)
    tell(run)
    with closing(_iterator(execute(job, parts))) as files:
        for file in files:
            written.append(file)
            if file.part not in done:
                done.add(file.part)
                _note(run, len(done), written)
                tell(run)
                _heed(run)
    _note(run, len(done), written)
    _heed(run)
    return written


def _iterator(files: Iterable[Written]) -> Generator[Written]:
    """One that can be closed: what was not begun is not begun then."""
    yield from files


def _note(run: Run, parts_done: int, written: Sequence[Written]) -> None:
    run.parts_done, run.rows = parts_done, sum(file.rows for file in written)
    run.bytes, run.seen_at = sum(file.bytes for file in written), Now()
    run.save(update_fields=["parts_done", "rows", "bytes", "seen_at"])
    horizon.due()  # history goes on waiting for a first run


def _heed(run: Run) -> None:
    if Run.objects.filter(pk=run.pk, cancel_requested=True).exists():
        raise Cancelled


def _end(run: Run, error: Exception) -> None:
    """Nothing of it counts, and its window is due again. Only a process that dies leaves a run as it is."""
    state = Run.State.CANCELLED if isinstance(error, Cancelled) else Run.State.FAILED
    told = str(error) if isinstance(error, PipelineError) else in_brief(error)
    Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(
        state=state, error=told, finished_at=Now(), seen_at=Now()
    )


def _sweep(store: Store, run: Run, prefix: str) -> None:
    """Remove what attempts of this run have left and the manifest does not name."""
    named = set(ArchiveFile.objects.filter(run=run).values_list("path", flat=True))
    for path in store.paths():
        if path.rpartition("/")[2].startswith(prefix) and path not in named:
            store.remove(path)
