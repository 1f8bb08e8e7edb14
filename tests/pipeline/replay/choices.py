"""Spark's part of a replay in plain Python: the manifest's rows that pass a simple filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from django.db.models import QuerySet

from pipeline.archive.files import Store
from pipeline.models import ArchiveFile
from pipeline.replay.replaying import Counted, Selection
from pipeline.replay.staging_part import CHOSEN, StagingTarget, write_part

Step = Callable[[str], None]
PARTS = 2


@dataclass
class PlainChoice:
    """Settled messages of some queues, in two parts."""

    rows: list[dict[str, Any]]
    tell: Step

    def counted(self) -> Counted:
        self.tell("counted")
        return Counted(len(self.rows), sum(len(row["payload"]) for row in self.rows))

    def write(self, place: StagingTarget) -> int:
        written = 0
        for part in range(PARTS):
            written += write_part(place, part, self._batches(part))
            self.tell(f"part {part}")
        return written

    def _batches(self, part: int) -> Iterator[pa.RecordBatch]:
        rows = [row for row in self.rows if row["message_id"] % PARTS == part]
        yield pa.RecordBatch.from_pylist(rows[:1], schema=CHOSEN)
        self.tell(f"within part {part}")
        yield pa.RecordBatch.from_pylist(rows[1:], schema=CHOSEN)


def plainly(tell: Step = lambda step: None) -> Callable[[QuerySet[ArchiveFile], Selection], PlainChoice]:
    """Choose rows; `tell` hears of each step."""

    def choose(files: QuerySet[ArchiveFile], chosen: Selection) -> PlainChoice:
        tell("begun")
        queues = chosen.filter.values("queue")
        rows = [row for file in files for row in Store(file.run.url).read(file.path).to_pylist()]
        return PlainChoice([_staged(row) for row in rows if row["queue"] in queues], tell)

    return choose


def _staged(row: dict[str, Any]) -> dict[str, Any]:
    own = {"kind": "settled", "ended_at": row["settled_at"], "fingerprint": None}
    return {name: own.get(name, row.get(name)) for name in CHOSEN.names}
