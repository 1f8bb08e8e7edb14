"""Archive runs: a window is fixed and written down, its parts become files, and the manifest is the commit point.

Whatever dies, the row says what is to be done again; doing it again puts the same rows into files of the same names.
One process at a time: the lock is the session's, and goes with it.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from pipeline.archive.extracting import Job, Written
from pipeline.archive.files import Store, canonical
from pipeline.archive.parts import Part, Window, cut
from pipeline.errors import Cancelled, CountsDiffer, Elsewhere, Overtaken
from pipeline.jobs import runs
from pipeline.jobs.runs import alone
from pipeline.models import ArchiveFile, Run
from queues.control import archive_horizon
from queues.database.connections import session_dsn
from signalbox.connections.primary_selection import address_of_one
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

RUN_ROWS = 4_000_000
"""What a kill throws away is less than this, and the horizon moves on after each."""
PART_ROWS = 250_000

OF_FILE = ("kind", "day", "part", "path", "rows", "bytes", "first_at", "last_at")

Execute = Callable[[Job, Sequence[Part]], Iterable[Written]]
"""Writes parts, at once where there is room, and says so of each file when its part is done (`on_spark.at_once`)."""
Tell = Callable[[Run], object]


@dataclass(frozen=True)
class Archived:
    """The result of one call of `archive`."""

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
        until = archive_horizon.due()[1]
        while (low := archive_horizon.due()[0]) < until:
            counts = archive_horizon.counts(low, until)
            if not counts:
                archive_horizon.move(low, until)
                break
            window = cut(low, until, counts, run_rows, part_rows)
            done.append(_run(_opened(window, url, actor), execute, tell))
    files = ArchiveFile.objects.filter(run__in=done).count()
    return Archived(url, done, sum(run.rows for run in done), sum(run.bytes for run in done), files, until)


@contextmanager
def _holding_only_what_works(done: Sequence[Run]) -> Iterator[None]:
    """Release history where it did not wait for the archive before, and no run succeeds within the block."""
    before = archive_horizon.read()
    try:
        yield
    except Exception:
        if not done and (before is None or not before.holds):
            archive_horizon.release()
        raise


def _give_up(run: Run) -> None:
    """A run that was cancelled after its process had died. Its address may be gone, and is no reason to keep it."""
    runs.fail(run, Cancelled())
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
        parts=[asdict(part) for part in window.parts],
        started_by=actor,
    )
    run.refresh_from_db()
    return run


def _taken_up(run: Run, url: str) -> Run:
    """A run whose process died: its window stands, and so does its address."""
    if canonical(run.url) != url:
        raise Elsewhere(f"run {run.pk} was begun to {run.url}: finish it there first, or cancel it")
    archive_horizon.due()  # history waits again, if it had given up on a first run
    run.attempts, run.started_at, run.parts_done, run.rows = run.attempts + 1, Now(), 0, 0
    run.save()
    run.refresh_from_db()
    return run


def _run(run: Run, execute: Execute, tell: Tell) -> Run:
    parts, store, prefix = [Part(**part) for part in run.parts], Store(run.url), _prefix(run)
    try:
        written = _written(run, _job(run, prefix), parts, execute, tell)
        _commit(run, parts, written, store)
    except Exception as error:
        runs.fail(run, error)
        _sweep(store, run, prefix)
        raise
    if run.attempts > 1:
        _sweep(store, run, prefix)
    tell(run)
    return run


def _job(run: Run, prefix: str) -> Job:
    """Make the job, whose tasks read the primary, or the server and role that are configured for them."""
    if settings.ARCHIVE_READ_URL:
        log_place = archive_horizon.log_position()
        Run.objects.filter(pk=run.pk).update(seen_at=Now())  # behind which there is something now, so that it is passed
        return Job(settings.ARCHIVE_READ_URL, run.url, prefix, log_place)
    return Job(address_of_one(session_dsn()), run.url, prefix)


def _prefix(run: Run) -> str:
    """Name the files of a run by its number and token."""
    return f"run-{run.pk:08}-{run.token}"


def _written(run: Run, job: Job, parts: Sequence[Part], execute: Execute, tell: Tell) -> list[Written]:
    """Write the parts. After each one the row says how far the run is, and the run may be stopped."""
    written: list[Written] = []
    done: set[int] = set()
    runs.heed(Run.Kind.ARCHIVE)
    tell(run)
    with closing(_iterator(execute(job, parts))) as files:
        for file in files:
            written.append(file)
            if file.part not in done:
                done.add(file.part)
                _note(run, len(done), written)
                tell(run)
                runs.heed(Run.Kind.ARCHIVE)
    _note(run, len(done), written)
    runs.heed(Run.Kind.ARCHIVE)
    return written


def _iterator(files: Iterable[Written]) -> Generator[Written]:
    """Make an iterator that can be closed: what was not begun is not begun then."""
    yield from files


def _note(run: Run, parts_done: int, written: Sequence[Written]) -> None:
    run.parts_done, run.rows = parts_done, sum(file.rows for file in written)
    run.bytes, run.seen_at = sum(file.bytes for file in written), Now()
    run.save(update_fields=["parts_done", "rows", "bytes", "seen_at"])
    archive_horizon.due()  # history goes on waiting for a first run


def _commit(run: Run, parts: Sequence[Part], written: Sequence[Written], store: Store) -> None:
    """Let files become part of the archive and the horizon move, in one transaction: the commit point.

    Checks what was written against the counts of the run and against the files. Raises `CountsDiffer`, `Overtaken` when
    another process brought the run to its end, or `Cancelled`.
    """
    _check(parts, written, store)
    with transaction.atomic():
        held = Run.objects.select_for_update().get(pk=run.pk)
        if held.state != Run.State.RUNNING or not archive_horizon.move(*held.window):
            raise Overtaken
        ArchiveFile.objects.bulk_create(
            ArchiveFile(run=run, **{name: getattr(file, name) for name in OF_FILE}) for file in written
        )
        rows, size = sum(file.rows for file in written), sum(file.bytes for file in written)
        runs.commit(run, rows, run.outcome, parts_done=len(parts), bytes=size)
    run.refresh_from_db()


def _check(parts: Sequence[Part], written: Sequence[Written], store: Store) -> None:
    """Check counts. Dead letters whose death is in no history may come and go: their number is not compared."""
    found: Counter[int] = Counter()
    for file in written:
        there = store.rows_of(file.path)
        if there != file.rows:
            raise CountsDiffer(f"{file.path} has {there:,} rows, and {file.rows:,} were written")
        found[file.part] += there - file.loose
    for part in parts:
        fixed = part.rows - part.loose
        if found[part.number] != fixed:
            raise CountsDiffer(
                f"part {part.number} ({part.kind}) has {found[part.number]:,} rows, and the database had {fixed:,}"
            )


def _sweep(store: Store, run: Run, prefix: str) -> None:
    """Remove what attempts of this run have left and the manifest does not name."""
    named = set(ArchiveFile.objects.filter(run=run).values_list("path", flat=True))
    for path in store.paths():
        if path.rpartition("/")[2].startswith(prefix) and path not in named:
            store.remove(path)
