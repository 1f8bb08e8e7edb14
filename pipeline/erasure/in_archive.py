"""Erase from file to file of the manifest: look into it, rewrite it if need be, and exchange it in one transaction.

Whatever is killed: a file that was begun or is not in the manifest any more is noted in `Discarded` before, and removed
by the next attempt; the manifest names a file that is there and whole at any moment; the row says which file is next.
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

ROUNDS: dict[int, Sequence[str]] = {1: ("settled", "dead_letters"), 2: ("failures",)}
READERS = (Run.Kind.ROLLUP, Run.Kind.REPLAY, Run.Kind.ANALYSE)
UNHEARD_OF = timedelta(minutes=10)
"""A run that said nothing for so long reads no file any more."""
_OURS = re.compile(r"-erased-\d+(?=\.parquet$)")


def erase(erasure_id: int) -> ArchiveErasure | None:
    """Go on with an erasure's part of the archive up to its end, or to what has to be waited for.

    None when there is nothing to do: it is over, or not that far yet. Raises `Busy` when another process is at it.
    """
    with alone("signalbox.erase"):
        asked = external.asked(erasure_id)
        if asked is None:
            _remove_left()
            return None
        row = begin(erasure_id)
        try:
            _go_on(row, asked)
        except Exception as error:
            ArchiveErasure.objects.filter(pk=row.pk).update(note=f"It is tried again, after: {reason(error)}")
            if isinstance(error, Cancelled):
                _remove_left()
            raise
    return row


def _go_on(row: ArchiveErasure, asked: external.Asked) -> None:
    if _waits(row, _archiving(row)):
        return
    for number, kinds in ROUNDS.items():
        if row.round == number:
            sought = _sought(row.erasure_id, asked)
            while (file := _next(row, kinds)) is not None:
                if external.asked(row.erasure_id) is None:
                    raise Cancelled("The erasure was stopped.")
                _file(row, file, sought)
            row.round, row.after_file_id = number + 1, 0
            row.save()
    if not _waits(row, remove_discarded(row.erasure_id)):
        row.findings_erased += erase_findings(row.erasure_id, asked.target)
        row.finished_at = timezone.now()
        row.save()


def remove_discarded(erasure_id: int) -> str:
    """Remove files that are no part of the archive, unless a process may read them; return which, as a sentence."""
    for one in Discarded.objects.filter(erasure_id=erasure_id, removed_at=None).order_by("pk"):
        running = Run.objects.filter(kind__in=READERS, state=Run.State.RUNNING, opened_at__lte=one.discarded_at)
        reader = running.filter(seen_at__gte=timezone.now() - UNHEARD_OF).order_by("pk").first()
        if reader is not None:
            return f"Waits for {reader}, which may read files that were exchanged."
        Store(one.url).remove(one.path)
        Discarded.objects.filter(pk=one.pk).update(removed_at=Now())
    return ""


def remove_left() -> None:
    """Remove what stopped erasures have left, which no other code would remove. Not while another process erases."""
    with contextlib.suppress(Busy), alone("signalbox.erase"):
        _remove_left()


def _remove_left() -> None:
    noted = Discarded.objects.filter(removed_at=None).values_list("erasure_id", flat=True).distinct()
    for erasure_id in sorted(external.over(noted)):
        try:
            remove_discarded(erasure_id)
        except Exception as error:  # its address may be gone, which concerns no other
            log.warning("what erasure %d left in the archive was not removed: %s", erasure_id, in_brief(error))


def erase_findings(erasure_id: int, target: Target) -> int:
    """Erase the findings of the failure analysis that quote the value; return how many."""
    if len(target.text) < SHORTEST_QUOTED:
        return 0
    found = [one.pk for one in Finding.objects.iterator() if target.quoted_in(one.value)]
    quoting = [one.pk for one in Template.objects.iterator() if one.error and target.quoted_in(one.error)]
    for pk in found:
        Finding.objects.filter(pk=pk).delete()
    Template.objects.filter(pk__in=quoting).update(error=f'{{"erased": "{erasure_id}"}}')
    return len(found) + len(quoting)


def _archiving(row: ArchiveErasure) -> str:
    """A run of the archive that began before the database was done may be about to bring it back."""
    under_way = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING, opened_at__lte=row.begun_at).first()
    if under_way is not None:
        return f"Waits for {under_way}, which began before: it ends, or the next takes it up, or it is cancelled."
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


def _sought(erasure_id: int, asked: external.Asked) -> Sought:
    """Ids of the database and of the round before; a million of them are eight megabytes."""

    def holds(document: str) -> bool | None:
        try:
            return asked.target.holds(document)
        except Unreadable:
            return None

    here = ErasedMessage.objects.filter(erasure_id=erasure_id).values_list("message_id", flat=True).iterator()
    queue_ids = asked.queue_ids
    return Sought(
        part=asked.target.part,
        needles=asked.target.needles,
        holds=holds,
        message_ids=pa.array([*asked.message_ids(), *here], pa.int64()),
        body_hashes=pa.array(asked.body_hashes(), pa.binary()),
        queue_ids=None if queue_ids is None else pa.array(queue_ids, pa.int32()),
        since=asked.since,
        until=asked.until,
    )


def _file(row: ArchiveErasure, file: ArchiveFile, sought: Sought) -> None:
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
    begun = Discarded.objects.create(erasure_id=row.erasure_id, url=file.run.url, path=new)
    written = rewrite(store, file.kind, file.path, new, found, f'{{"erased": "{row.erasure_id}"}}')
    if not written == store.rows_of(new) == file.rows:
        raise CountsDiffer(f"{new} has {store.rows_of(new):,} rows, and {file.path} has {file.rows:,}")
    _exchange(row, file, new, store.bytes_of(new), begun, found)


def new_path(path: str, erasure_id: int) -> str:
    """Always the same, so that an attempt after a kill writes over what the one before began."""
    plain = _OURS.sub("", path)
    return f"{plain.removesuffix('.parquet')}-erased-{erasure_id}.parquet"


def _exchange(row: ArchiveErasure, file: ArchiveFile, new: str, size: int, begun: Discarded, found: Found) -> None:
    """Exchange the file: the commit point."""
    with transaction.atomic():
        held = ArchiveFile.objects.filter(pk=file.pk, path=file.path)
        if not held.update(path=new, bytes=size):
            raise Overtaken
        Run.objects.filter(pk=file.run_id).update(bytes=F("bytes") + size - file.bytes)
        Discarded.objects.filter(erasure_id=row.erasure_id, url=file.run.url, path=new).delete()
        Discarded.objects.create(erasure_id=row.erasure_id, url=file.run.url, path=file.path)
        ErasedMessage.objects.bulk_create(
            (ErasedMessage(erasure_id=row.erasure_id, message_id=one) for one in sorted(found.message_ids)),
            ignore_conflicts=True,
        )
        row.files_rewritten += 1
        row.rows_erased += found.count
        row.save()
