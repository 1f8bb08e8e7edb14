"""The archive as a location of erasures outside of the database: its state and report, and the task for a worker."""

from __future__ import annotations

import logging
from io import StringIO
from typing import Any

from django.core.management import CommandError, call_command
from django.db import transaction

from dlq.erasure import external
from pipeline.erasure.models import ArchiveErasure, Discarded, begin
from pipeline.jobs.starting import announce
from pipeline.models import ArchiveFile, Run

log = logging.getLogger(__name__)

EXPIRES_SECONDS = 15
"""Expiry of the task, which is sent again at every look while the archive is not done."""


class Archive:
    """The archive as an external location (`dlq.erasure.external.External`)."""

    def waits_for(self, erasure_id: int) -> str:
        row = ArchiveErasure.objects.filter(pk=erasure_id).first()
        if row is None:
            archiving = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING)
            if not (ArchiveFile.objects.exists() or archiving.exists()):
                return ""
            row = begin(erasure_id)
        if row.finished_at:
            return ""
        # A lost task is sent again at the next look, and a second one ends when the first runs.
        what = f"erasure {erasure_id} in the archive"
        transaction.on_commit(lambda: announce("pipeline.erase", erasure_id, EXPIRES_SECONDS, what))
        files = ArchiveFile.objects.filter(pk__lte=row.through_file_id).count()
        return row.note or f"The archive is searched: {row.files_looked:,} of {files:,} files."

    def work(self, erasure_id: int) -> None:
        """Erase in the archive here, for an installation without a worker."""
        try:  # by a command, so that only its process loads pyarrow
            call_command("pipeline", "erase", str(erasure_id), stdout=StringIO())
        except CommandError as error:
            log.warning("erasure %d in the archive failed: %s", erasure_id, error)

    def report(self, erasure_id: int) -> dict[str, Any]:
        row = ArchiveErasure.objects.filter(pk=erasure_id).first()
        if row is None:
            return {}
        counted = ("files_looked", "files_rewritten", "rows_looked", "rows_erased", "unreadable", "findings_erased")
        return {
            "state": "done" if row.finished_at else "under way",
            **{name: getattr(row, name) for name in counted},
            "old_files_to_remove": Discarded.objects.filter(erasure_id=erasure_id, removed_at=None).count(),
        }


def register() -> None:
    """Register the archive with the erasures."""
    external.add("archive", Archive())
