"""The commit point: files become part of the archive, and the horizon moves, in one transaction, or neither does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

from django.db import transaction
from django.db.models.functions import Now

from pipeline.archive import horizon
from pipeline.archive.extracting import Written
from pipeline.archive.files import Store
from pipeline.archive.parts import Part
from pipeline.errors import Cancelled, CountsDiffer, Overtaken
from pipeline.models import ArchiveFile, Run


def commit(run: Run, parts: Sequence[Part], written: Sequence[Written], store: Store) -> None:
    """Check what was written against what was counted when the run was opened, and against the files; then it counts.

    Raises `CountsDiffer`, `Overtaken` when somebody else brought the run to its end, or `Cancelled`.
    """
    _check(parts, written, store)
    with transaction.atomic():
        held = Run.objects.select_for_update().get(pk=run.pk)
        if held.state != Run.State.RUNNING or not horizon.move(*held.window):
            raise Overtaken
        if held.cancel_requested:
            raise Cancelled  # from here on it is too late to ask
        ArchiveFile.objects.bulk_create(_row(run, file) for file in written)
        held.state, held.finished_at, held.seen_at, held.parts_done = Run.State.COMMITTED, Now(), Now(), len(parts)
        held.rows, held.bytes = sum(file.rows for file in written), sum(file.bytes for file in written)
        held.save()
    run.refresh_from_db()


def _check(parts: Sequence[Part], written: Sequence[Written], store: Store) -> None:
    """Letters whose death is in no history may go or come back meanwhile: how many they are is not compared."""
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


def _row(run: Run, file: Written) -> ArchiveFile:
    return ArchiveFile(
        run=run,
        kind=file.kind,
        day=date.fromisoformat(file.day),
        part=file.part,
        path=file.path,
        rows=file.rows,
        bytes=file.bytes,
        first_at=file.first_at,
        last_at=file.last_at,
    )
