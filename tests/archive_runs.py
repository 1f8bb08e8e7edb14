"""Rows of the manifest as an archive run leaves them, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pipeline.models import ArchiveFile, Run

ROWS_OF_A_FILE = 35


def committed_run(url: str, names: Sequence[str], ended: datetime) -> Run:
    """A run of one part that took an hour, with a file of that day for each name."""
    rows = ROWS_OF_A_FILE * len(names)
    run = Run.objects.create(
        token="t",
        url=url,
        low=861,
        high=2989,
        parts=[{"kind": "settled", "number": 0, "low": 861, "high": 2989, "rows": rows}],
        parts_done=1,
        rows=rows,
        bytes=1024 * len(names),
        state=Run.State.COMMITTED,
        started_by="ann",
        started_at=ended - timedelta(hours=1),
        finished_at=ended,
    )
    for name in names:
        ArchiveFile.objects.create(
            run=run,
            kind="settled",
            day=ended.date(),
            part=0,
            path=f"settled/day={ended.date()}/{name}.parquet",
            rows=ROWS_OF_A_FILE,
            bytes=1024,
            first_at=ended,
            last_at=ended,
        )
    return run


def forget(run: Run) -> None:
    """Run with its files, which other tests would count."""
    ArchiveFile.objects.filter(run=run).delete()
    run.delete()
