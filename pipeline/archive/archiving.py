"""Archive runs: fix a window of transactions, write its parts to files, and commit the files to the manifest.

A run that dies is repeated from its row, which has the window and the parts: the repetition writes the same rows to
files of the same names. An advisory lock of the session allows one archive process at a time.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from pipeline.archive.extracting import Job, Written
from pipeline.archive.files import Store, canonical
from pipeline.archive.parts import Part, Window, cut
from pipeline.archive.stream_parts import Range, cut_ranges, next_parts
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
"""Largest number of rows of a run. A kill loses at most one run, and the horizon moves after each run."""
PART_ROWS = 250_000

FILE_COLUMNS = ("kind", "day", "part", "path", "rows", "bytes", "first_at", "last_at")

Execute = Callable[[Job, Sequence[Part]], Iterable[Written]]
"""Function that writes parts, several at a time, and yields the files of each part when it is done."""
Report = Callable[[Run], object]


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
    report: Report = lambda run: None,
    run_rows: int = RUN_ROWS,
    part_rows: int = PART_ROWS,
) -> Archived:
    """Archive all transactions that are older than the oldest one still running, and all that streams can be read of.

    Raises `PipelineError`, or `NoStore` for an address that cannot be opened.
    """
    url = canonical(url)
    Store(url)  # refuse a wrong address before history begins to wait for the archive
    done: list[Run] = []
    with alone("signalbox.archive"), _release_history_after_failure(done):
        unfinished = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING).first()
        if unfinished is not None and unfinished.cancel_requested:
            _give_up(unfinished)
        elif unfinished is not None:
            done.append(_run(_retried(unfinished, url), execute, report))
        until = archive_horizon.due()[1]
        ranges = cut_ranges(archive_horizon.unarchived_positions(), part_rows)
        while (window := _next_window(until, ranges, run_rows, part_rows)).parts:
            done.append(_run(_opened(window, url, actor), execute, report))
        archive_horizon.move(window.low, until)
    files = ArchiveFile.objects.filter(run__in=done).count()
    return Archived(url, done, sum(run.rows for run in done), sum(run.bytes for run in done), files, until)


@contextmanager
def _release_history_after_failure(done: Sequence[Run]) -> Iterator[None]:
    """Stop history from waiting for the archive when the block fails before its first run, if it did not wait before.

    An archive that never worked must not keep history from being dropped.
    """
    before = archive_horizon.read()
    try:
        yield
    except Exception:
        if not done and (before is None or not before.holds):
            archive_horizon.release()
        raise


def _next_window(until: int, ranges: Iterator[Range], run_rows: int, part_rows: int) -> Window:
    """Cut the next run: history up to transaction `until`, and messages of streams where it leaves room for them."""
    low = archive_horizon.due()[0]
    counts = archive_horizon.counts(low, until) if low < until else {}
    window = cut(low, until, counts, run_rows, part_rows)
    room = max(0, run_rows - sum(part.rows for part in window.parts))
    return replace(window, parts=[*window.parts, *next_parts(ranges, room, part_rows, len(window.parts))])


def _give_up(run: Run) -> None:
    """Close a run that was cancelled after its process had died, even when its store can no longer be opened."""
    runs.fail(run, Cancelled())
    try:
        _sweep(Store(run.url), run, _prefix(run))
    except Exception as error:
        log.warning("files of the cancelled archive run %d were not removed: %s", run.pk, in_brief(error))


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


def _retried(run: Run, url: str) -> Run:
    """Begin another attempt of a run whose process died, with the same window and address."""
    if canonical(run.url) != url:
        raise Elsewhere(f"run {run.pk} writes to {run.url}: finish it there first, or cancel it")
    archive_horizon.due()  # history waits for the archive again
    run.attempts, run.started_at, run.parts_done, run.rows = run.attempts + 1, Now(), 0, 0
    run.save()
    run.refresh_from_db()
    return run


def _run(run: Run, execute: Execute, report: Report) -> Run:
    parts, store, prefix = [Part(**part) for part in run.parts], Store(run.url), _prefix(run)
    try:
        written = _written(run, _job(run, prefix), parts, execute, report)
        _commit(run, parts, written, store)
    except Exception as error:
        runs.fail(run, error)
        _sweep(store, run, prefix)
        raise
    if run.attempts > 1:
        _sweep(store, run, prefix)
    report(run)
    return run


def _job(run: Run, prefix: str) -> Job:
    """Make the job of the tasks, which read the primary or the server that ARCHIVE_READ_URL names."""
    if settings.ARCHIVE_READ_URL:
        log_position = archive_horizon.log_position()
        Run.objects.filter(pk=run.pk).update(seen_at=Now())  # a write after the position, so that a standby passes it
        return Job(settings.ARCHIVE_READ_URL, run.url, prefix, log_position)
    return Job(address_of_one(session_dsn()), run.url, prefix)


def _prefix(run: Run) -> str:
    """Prefix of the names of a run's files: its number and token."""
    return f"run-{run.pk:08}-{run.token}"


def _written(run: Run, job: Job, parts: Sequence[Part], execute: Execute, report: Report) -> list[Written]:
    """Write the parts; after each one, save the progress and check whether the run was cancelled."""
    written: list[Written] = []
    done: set[int] = set()
    runs.raise_if_cancelled(Run.Kind.ARCHIVE)
    report(run)
    with closing(_iterator(execute(job, parts))) as files:
        for file in files:
            written.append(file)
            if file.part not in done:
                done.add(file.part)
                _save_progress(run, len(done), written)
                report(run)
                runs.raise_if_cancelled(Run.Kind.ARCHIVE)
    _save_progress(run, len(done), written)
    runs.raise_if_cancelled(Run.Kind.ARCHIVE)
    return written


def _iterator(files: Iterable[Written]) -> Generator[Written]:
    """Make an iterator that can be closed, so that no further part begins after an error."""
    yield from files


def _save_progress(run: Run, parts_done: int, written: Sequence[Written]) -> None:
    run.parts_done, run.rows = parts_done, sum(file.rows for file in written)
    run.bytes, run.seen_at = sum(file.bytes for file in written), Now()
    run.save(update_fields=["parts_done", "rows", "bytes", "seen_at"])
    archive_horizon.due()  # history keeps waiting for the archive during a long first run


def _commit(run: Run, parts: Sequence[Part], written: Sequence[Written], store: Store) -> None:
    """Check the files, then add them to the manifest and move the horizon in one transaction.

    Raises `CountsDiffer`, `Overtaken` when another process ended the run, or `Cancelled`.
    """
    _check(parts, written, store)
    with transaction.atomic():
        held = Run.objects.select_for_update().get(pk=run.pk)
        if held.state != Run.State.RUNNING or not _moved(held, parts):
            raise Overtaken
        ArchiveFile.objects.bulk_create(
            ArchiveFile(run=run, **{name: getattr(file, name) for name in FILE_COLUMNS}) for file in written
        )
        rows, size = sum(file.rows for file in written), sum(file.bytes for file in written)
        runs.commit(run, rows, run.outcome, parts_done=len(parts), bytes=size)
    run.refresh_from_db()


def _moved(run: Run, parts: Sequence[Part]) -> bool:
    """Move the horizon of history, and the archived positions of streams. False when another run has moved one."""
    ranges = (positions for part in parts for positions in part.ranges)
    return archive_horizon.move(*run.window) and all(archive_horizon.move_position(*one) for one in ranges)


def _check(parts: Sequence[Part], written: Sequence[Written], store: Store) -> None:
    """Compare the rows in the files with the rows that were written and the rows that the database counted.

    Rows with the transaction id `LOOSE` are not compared, because they may be deleted at any time.
    """
    counted: Counter[int] = Counter()
    for file in written:
        in_file = store.rows_of(file.path)
        if in_file != file.rows:
            raise CountsDiffer(f"{file.path} has {in_file:,} rows, but {file.rows:,} were written")
        counted[file.part] += in_file - file.loose
    for part in parts:
        expected = part.rows - part.loose
        if counted[part.number] != expected:
            raise CountsDiffer(
                f"part {part.number} ({part.kind}) has {counted[part.number]:,} rows, but the database had {expected:,}"
            )


def _sweep(store: Store, run: Run, prefix: str) -> None:
    """Remove files of this run's attempts that are not in the manifest."""
    named = set(ArchiveFile.objects.filter(run=run).values_list("path", flat=True))
    for path in store.paths():
        if path.rpartition("/")[2].startswith(prefix) and path not in named:
            store.remove(path)
