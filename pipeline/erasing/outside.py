"""What erasures hear of the archive: whether it is done, and what was done. A worker is asked to do it meanwhile."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from dlq.erasing import elsewhere
from pipeline.erasing.beginning import begin
from pipeline.erasing.erasing_models import ArchiveErasure, Discarded
from pipeline.errors import PipelineError
from pipeline.models import ArchiveFile, Run
from signalbox import SignalboxError
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

EXPIRES_SECONDS = 15
"""Asked again at every look, as long as it is not done."""
CONNECT_SECONDS = 1.0


class Archive:
    """The archive as a place outside of the database (`dlq.erasing.elsewhere.Outside`)."""

    def waits_for(self, erasure_id: int) -> str:
        row = ArchiveErasure.objects.filter(pk=erasure_id).first()
        if row is None:
            if not _is_anything():
                return ""
            row = begin(erasure_id)
        if row.finished_at:
            return ""
        transaction.on_commit(lambda: _ask(erasure_id))
        files = ArchiveFile.objects.filter(pk__lte=row.through_file_id).count()
        return row.note or f"The archive is searched: {row.files_looked:,} of {files:,} files."

    def work(self, erasure_id: int) -> None:
        """Do it in this process, for whoever has no worker."""
        from pipeline.erasing import in_archive  # and pyarrow with it, which every process would hold

        try:
            in_archive.erase(erasure_id)
        except PipelineError as error:
            log.warning("the archive's part of erasure %d: %s", erasure_id, error)

    def told(self, erasure_id: int) -> dict[str, Any]:
        row = ArchiveErasure.objects.filter(pk=erasure_id).first()
        if row is None:
            return {}
        left = Discarded.objects.filter(erasure_id=erasure_id, removed_at=None).count()
        return {
            "state": "done" if row.finished_at else "under way",
            "files_looked": row.files_looked,
            "files_rewritten": row.files_rewritten,
            "rows_looked": row.rows_looked,
            "rows_erased": row.rows_erased,
            "unreadable": row.unreadable,
            "findings_erased": row.findings_erased,
            "old_files_to_remove": left,
        }


def _is_anything() -> bool:
    begun = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.RUNNING)
    return ArchiveFile.objects.exists() or begun.exists()


def register() -> None:
    """Erasures ask from now on."""
    elsewhere.add("archive", Archive())


def _ask(erasure_id: int) -> None:
    """A hint: lost, the next look gives another; doubled, the second finds the first at work."""
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_SECONDS)
            current_app.send_task(
                "pipeline.erase", args=[erasure_id], expires=EXPIRES_SECONDS, retry=False, connection=broker
            )
    except (OperationalError, OSError, psycopg.Error, SignalboxError) as error:
        log.warning("the archive's part of erasure %d was not announced: %s", erasure_id, in_brief(error))
