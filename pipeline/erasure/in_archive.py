"""Erase in the files of the manifest, one by one: search a file, rewrite it, and replace it in one transaction.

The process may be killed at any step. The manifest always names complete files; new and replaced files are recorded in
`Discarded` before they are orphaned, and are removed by the next attempt; the erasure's row has the next file.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from dlq.erasure import external
from dlq.erasure.target import SHORTEST_QUOTED, Target, Unreadable
from pipeline.analysis.analysis_models import Finding, Template
from pipeline.archive.files import Store
from pipeline.erasure.models import ArchiveErasure, Discarded, ErasedMessage, begin, newest_file_id
from pipeline.erasure.rewriting import Found, Sought, rewrite, search
from pipeline.errors import Busy, Cancelled, CountsDiffer, Overtaken
from pipeline.jobs.runs import alone, reason
from pipeline.models import ArchiveFile, Run
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

ROUNDS: dict[int, Sequence[str]] = {1: ("settled", "dead_letters", "stream_messages"), 2: ("failures",)}
READERS = (Run.Kind.ROLLUP, Run.Kind.REPLAY, Run.Kind.ANALYSE)
SILENT_FOR = timedelta(minutes=10)
"""A run without a progress report for this time counts as dead, and reads no files."""
_SUFFIX = re.compile(r"-erased-\d+(?=\.parquet$)")


def erase(erasure_id: int) -> ArchiveErasure | None:
    """Continue an erasure in the archive until it is done, or has to wait for a run.

    None when the erasure has ended, or has not reached the archive yet. Raises `Busy` when another process erases.
    """
    with alone("signalbox.erase"):
        request = external.request_of(erasure_id)
        if request is None:
            _remove_files_of_ended_erasures()
            return None
        row = begin(erasure_id)
        try:
            _continue(row, request)
        except Exception as error:
            ArchiveErasure.objects.filter(pk=row.pk).update(note=f"The archive is tried again, after: {reason(error)}")
            if isinstance(error, Cancelled):
                _remove_files_of_ended_erasures()
            raise
    return row


def _continue(row: ArchiveErasure, request: external.Request) -> None:
    if _waits(row, _archiving(row)):
        return
    for number, kinds in ROUNDS.items():
        if row.round == number:
            sought = _sought(row.erasure_id, request)
            while (file := _next(row, kinds)) is not None:
                if external.request_of(row.erasure_id) is None:
                    raise Cancelled("The erasure was stopped.")
                _erase_in(row, file, sought)
            row.round, row.after_file_id = number + 1, 0
            row.save()
    if not _waits(row, remove_discarded(row.erasure_id)):
        row.findings_erased += erase_findings(row.erasure_id, request.target)
        row.finished_at = timezone.now()
        row.save()


def remove_discarded(erasure_id: int) -> str:
    """Remove the replaced files of an erasure. Return a sentence about the run that may still read one, if any."""
    for file in Discarded.objects.filter(erasure_id=erasure_id, removed_at=None).order_by("pk"):
        running = Run.objects.filter(kind__in=READERS, state=Run.State.RUNNING, opened_at__lte=file.discarded_at)
        reader = running.filter(seen_at__gte=timezone.now() - SILENT_FOR).order_by("pk").first()
        if reader is not None:
            return f"Waits for {reader}, which may read files that were replaced."
        Store(file.url).remove(file.path)
        Discarded.objects.filter(pk=file.pk).update(removed_at=Now())
    return ""


def remove_files_of_ended_erasures() -> None:
    """Remove the replaced and unfinished files of stopped erasures, unless another process erases."""
    with contextlib.suppress(Busy), alone("signalbox.erase"):
        _remove_files_of_ended_erasures()


def _remove_files_of_ended_erasures() -> None:
    recorded = Discarded.objects.filter(removed_at=None).values_list("erasure_id", flat=True).distinct()
    for erasure_id in sorted(external.ended(recorded)):
        try:
            remove_discarded(erasure_id)
        except Exception as error:  # one store may be unreachable: go on with the others
            log.warning("files of erasure %d in the archive were not removed: %s", erasure_id, in_brief(error))


def erase_findings(erasure_id: int, target: Target) -> int:
    """Erase the results of the failure analysis that quote the value; return their number."""
    if len(target.text) < SHORTEST_QUOTED:
        return 0
    findings = [finding.pk for finding in Finding.objects.iterator() if target.quoted_in(finding.value)]
    templates = [row.pk for row in Template.objects.exclude(error="").iterator() if target.quoted_in(row.error or "")]
    for pk in findings:
        Finding.objects.filter(pk=pk).delete()
    Template.objects.filter(pk__in=templates).update(error=f'{{"erased": "{erasure_id}"}}')
    return len(findings) + len(templates)


def _archiving(row: ArchiveErasure) -> str:
    """Return a sentence when an archive run that began before the database was erased may add unerased rows."""
    under_way = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING, opened_at__lte=row.begun_at).first()
    if under_way is not None:
        return f"Waits for {under_way}, which began earlier. If its process died, run it again or cancel it."
    if row.files_looked == 0 and (newest := newest_file_id()) > row.through_file_id:
        row.through_file_id = newest
        row.save(update_fields=["through_file_id"])
    return ""


def _waits(row: ArchiveErasure, words: str) -> bool:
    row.note = words
    row.save(update_fields=["note"])
    return bool(words)


def _next(row: ArchiveErasure, kinds: Sequence[str]) -> ArchiveFile | None:
    files = ArchiveFile.objects.filter(kind__in=kinds, pk__gt=row.after_file_id, pk__lte=row.through_file_id)
    return files.select_related("run").order_by("pk").first()


def _sought(erasure_id: int, request: external.Request) -> Sought:
    """Collect the target of the search, with the messages that were found in the database and the first round."""

    def holds(document: str) -> bool | None:
        try:
            return request.target.holds(document)
        except Unreadable:
            return None

    archived = ErasedMessage.objects.filter(erasure_id=erasure_id).values_list("message_id", flat=True).iterator()
    queue_ids = request.queue_ids
    return Sought(
        part=request.target.part,
        needles=request.target.needles,
        holds=holds,
        message_ids=pa.array([*request.message_ids(), *archived], pa.int64()),
        body_hashes=pa.array(request.body_hashes(), pa.binary()),
        queue_ids=None if queue_ids is None else pa.array(queue_ids, pa.int32()),
        since=request.since,
        until=request.until,
    )


def _erase_in(row: ArchiveErasure, file: ArchiveFile, sought: Sought) -> None:
    store = Store(file.run.url)
    found = search(store, file.path, sought)
    row.files_looked += 1
    row.rows_looked += found.looked
    row.unreadable += found.unreadable
    row.after_file_id = file.pk
    if not found.count:
        row.save()
        return
    new = new_path(file.path, row.erasure_id)
    Discarded.objects.create(erasure_id=row.erasure_id, url=file.run.url, path=new)
    written = rewrite(store, file.kind, file.path, new, found, f'{{"erased": "{row.erasure_id}"}}')
    if not written == store.rows_of(new) == file.rows:
        raise CountsDiffer(f"{new} has {store.rows_of(new):,} rows, but {file.path} has {file.rows:,}")
    _replace(row, file, new, store.bytes_of(new), found)


def new_path(path: str, erasure_id: int) -> str:
    """Return the path of the rewritten file. A repeated attempt overwrites the unfinished file of the earlier one."""
    plain = _SUFFIX.sub("", path)
    return f"{plain.removesuffix('.parquet')}-erased-{erasure_id}.parquet"


def _replace(row: ArchiveErasure, file: ArchiveFile, new: str, size: int, found: Found) -> None:
    """Replace the file in the manifest, in one transaction with the progress."""
    with transaction.atomic():
        held = ArchiveFile.objects.filter(pk=file.pk, path=file.path)
        if not held.update(path=new, bytes=size):
            raise Overtaken
        Run.objects.filter(pk=file.run_id).update(bytes=F("bytes") + size - file.bytes)
        Discarded.objects.filter(erasure_id=row.erasure_id, url=file.run.url, path=new).delete()
        Discarded.objects.create(erasure_id=row.erasure_id, url=file.run.url, path=file.path)
        ErasedMessage.objects.bulk_create(
            (ErasedMessage(erasure_id=row.erasure_id, message_id=pk) for pk in sorted(found.message_ids)),
            ignore_conflicts=True,
        )
        row.files_rewritten += 1
        row.rows_erased += found.count
        row.save()
