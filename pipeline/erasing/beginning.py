"""Where the row of an erasure's part of the archive comes from, for who does it and for who only waits for it."""

from __future__ import annotations

from pipeline.erasing.erasing_models import ArchiveErasure
from pipeline.models import ArchiveFile


def begin(erasure_id: int) -> ArchiveErasure:
    """Its row; the bound is fixed with it."""
    newest = ArchiveFile.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    row, _ = ArchiveErasure.objects.get_or_create(erasure_id=erasure_id, defaults={"through_file_id": newest})
    row.refresh_from_db()
    return row
