"""The archive as a location of erasures: whether it is done, and what was done. A worker is asked to do it."""

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
"""Asked again at every look, as long as it is not done."""


class Archive:
    """The archive as a place outside of the database (`dlq.erasure.external.Outside`)."""

    def waits_for(self, erasure_id: int) -> str:
        row = ArchiveErasure.objects.filter(pk=erasure_id).first()
        if row is None:
            archiving = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING)
            if not (ArchiveFile.objects.exists() or archiving.exists()):
                return ""
            row = begin(erasure_id)
        if row.finished_at:
            return ""
        # A hint: lost, the next look gives another; doubled, the second finds the first at work.
        what = f"the archive's part of erasure {erasure_id}"
        transaction.on_commit(lambda: announce("pipeline.erase", erasure_id, EXPIRES_SECONDS, what))
        files = ArchiveFile.objects.filter(pk__lte=row.through_file_id).count()
        return row.note or f"The archive is searched: {row.files_looked:,} of {files:,} files."

    def work(self, erasure_id: int) -> None:
        """Erase in this process, for an installation without a worker."""
        try:  # by the command, which alone loads pyarrow: every process would hold it
            call_command("pipeline", "erase", str(erasure_id), stdout=StringIO())
        except CommandError as error:
            log.warning("the archive's part of erasure %d: %s", erasure_id, error)

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
    """Erasures ask from now on."""
    external.add("archive", Archive())
