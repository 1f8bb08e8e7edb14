"""Rollups without Spark: the manifest's files, aggregated in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from math import ceil
from typing import Any
from unittest import mock

import pyarrow as pa
from django.db.models import QuerySet

from pipeline.archive.files import Store
from pipeline.archive.schemas import KINDS
from pipeline.models import ArchiveFile, Rollup, Run, Sent
from pipeline.rollups import rolling
from pipeline.rollups.aggregation import COUNTS, QUANTILES

Bucket = tuple[int, int, datetime]


@contextmanager
def plainly() -> Iterator[None]:
    """Block within which a rollup needs no session."""
    with mock.patch.multiple(rolling, _of_days=_of_days, _sent_in=_sent_in):
        yield


def _of_days(spark: Any, days: Sequence[date]) -> list[dict[str, Any]]:
    content = {kind: _table(kind, ArchiveFile.objects.filter(kind=kind, day__in=days)) for kind in KINDS}
    keys = ("scope", "seconds", "bucket_at")
    return [dict(zip(keys, place, strict=True)) | counted for place, counted in buckets(content).items()]


def _sent_in(spark: Any, run: Run) -> list[dict[str, Any]]:
    found = sent({"settled": _table("settled", run.files.filter(kind="settled"))})
    return [{"scope": scope, "bucket_at": at, "messages": count} for (scope, at), count in found.items()]


def _table(kind: str, files: QuerySet[ArchiveFile]) -> pa.Table:
    read = [Store(file.run.url).read(file.path) for file in files.select_related("run")]
    return pa.concat_tables([KINDS[kind].schema.empty_table(), *read])


def rolled_up() -> dict[Bucket, dict[str, Any]]:
    """Buckets in the database, by run."""
    return {
        (row.scope, row.seconds, row.bucket_at): {name: getattr(row, name) for name in _names()}
        for row in Rollup.objects.all()
    }


def sent_by_hour() -> Counter[tuple[int, datetime]]:
    """Buckets in the database, of all runs together."""
    found: Counter[tuple[int, datetime]] = Counter()
    for row in Sent.objects.all():
        found[row.scope, row.bucket_at] += row.messages
    return found


def _names() -> list[str]:
    shares = [f"{what}_p{round(share * 100)}_ms" for what in ("wait", "work") for share in QUANTILES]
    return [*COUNTS, "waits", "works", *shares]


def buckets(content: dict[str, pa.Table]) -> dict[Bucket, dict[str, Any]]:
    counted: dict[Bucket, Counter[str]] = defaultdict(Counter)
    times: dict[tuple[Bucket, str], list[int]] = defaultdict(list)
    for row in content["settled"].to_pylist():
        for place in places(row, row["settled_at"]):
            counted[place].update({row["outcome"]: 1, "delivered": row["receive_count"] or 0})
            if row["outcome"] == "acked":
                times[place, "work"].append(row["work_ms"])
                if row["receive_count"] == 1 and row["sent_at"] and not row["redriven"]:
                    took = milliseconds(row["settled_at"]) - milliseconds(row["sent_at"]) - row["work_ms"]
                    times[place, "wait"].append(max(0, took))
    for kind, at, name in (("failures", "failed_at", "retried"), ("dead_letters", "died_at", "dead_lettered")):
        for row in content[kind].to_pylist():
            for place in places(row, row[at]):
                counted[place][name] += not row.get("died", False)
                counted[place]["delivered"] += row["receive_count"] if kind == "dead_letters" else 0
    return {
        place: {
            **{name: counts[name] for name in COUNTS},
            **{f"{what}s": len(times[place, what]) for what in ("wait", "work")},
            **{
                f"{what}_p{round(share * 100)}_ms": quantile(times[place, what], share)
                for what in ("wait", "work")
                for share in QUANTILES
            },
        }
        for place, counts in counted.items()
    }


def sent(content: dict[str, pa.Table]) -> Counter[tuple[int, datetime]]:
    rows = content["settled"].to_pylist()
    return Counter((scope, at) for row in rows for scope, seconds, at in places(row, row["sent_at"]) if seconds == 3600)


def places(row: dict[str, Any], at: datetime) -> list[Bucket]:
    hour = at.replace(minute=0, second=0, microsecond=0)
    scopes = (row["queue_id"], -row["tenant_id"], 0)
    return [
        (scope, seconds, when) for scope in scopes for seconds, when in ((3600, hour), (86_400, hour.replace(hour=0)))
    ]


def milliseconds(at: datetime) -> int:
    return int(at.timestamp()) * 1000 + at.microsecond // 1000


def quantile(values: list[int], share: float) -> int | None:
    """Exact percentiles: a sketch of few values contains each value."""
    return sorted(values)[ceil(share * len(values)) - 1] if values else None
