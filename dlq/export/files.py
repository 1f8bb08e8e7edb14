"""Exports: write rows as NDJSON or CSV in batches, up to a limit. The audit records their start and end.

An export keeps one batch in memory and no transaction open, so its size costs neither memory nor an old snapshot. The
last line of an export that reached its limit says so.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction

from queues import audit
from queues.errors import InvalidArgument
from queues.models import Queue

# Beginnings of cells that spreadsheets take for formulas, some even after spaces.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
CONTROL = ("\t", "\r", "\n")


class Format(StrEnum):
    """Format of an export."""

    NDJSON = "ndjson"  # one JSON object per line
    CSV = "csv"

    @property
    def content_type(self) -> str:
        return "text/csv; charset=utf-8" if self is Format.CSV else "application/x-ndjson"


class Document(str):
    """JSON text, which NDJSON exports write as it is and not as a string."""

    __slots__ = ()


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Bound:
    """Bounds of an export."""

    rows: int
    bytes: int

    @classmethod
    def of(cls, rows: int | None = None) -> Bound:
        """Return the limits of the settings, perhaps with fewer rows. Raises `InvalidArgument`."""
        most: int = settings.EXPORT_MAX_ROWS
        if rows is not None and not 1 <= rows <= most:
            raise InvalidArgument(f"limit is {rows}: it must be from 1 to {most} (EXPORT_MAX_ROWS)", "limit")
        return cls(rows or most, settings.EXPORT_MAX_BYTES)


@dataclass(frozen=True)
class Source:
    """Rows to export. `of` names the list, `columns` are the names of the columns, `batches` yields the rows."""

    of: str
    filter_text: str
    columns: Sequence[str]
    batches: Iterator[Sequence[Row]]
    queue: Queue | None = None
    reveal: bool = False
    """Whether masked values are shown."""


class Export:
    """An export in progress: iterate over its chunks, and close it in the end. The constructor audits its start."""

    def __init__(self, source: Source, form: Format, bound: Bound, actor: str) -> None:
        self.rows = self.bytes = 0
        self.cut = ""
        self.ended = ""
        self._source, self._form, self._bound, self._actor = source, form, bound, actor
        self._chunks = self._written()
        self._record("start", rows_at_most=bound.rows, bytes_at_most=bound.bytes)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            self._end("cut" if self.cut else "complete")
            raise
        except Exception:
            self._end("failed")
            raise

    def close(self) -> None:
        """End the export; the audit records it as abandoned when it is not complete."""
        self._chunks.close()
        self._end("abandoned")

    def _end(self, how: str) -> None:
        if not self.ended:
            self.ended = how
            self._record("end", ended=how, rows=self.rows, bytes=self.bytes)

    def _record(self, step: str, **facts: object) -> None:
        source = self._source
        details = {"of": source.of, "filter": source.filter_text, "format": self._form.value, **facts}
        if step == "start":
            details["columns"] = ", ".join(source.columns)
            details |= {"reveal": True} if source.reveal else {}
        with transaction.atomic():
            audit.record(self._actor, f"export.{step}", source.queue, details=details)

    def _written(self) -> Generator[bytes, None, None]:
        line = _csv_line if self._form is Format.CSV else _json_line
        if self._form is Format.CSV:
            yield self._counted(_csv_cells(self._source.columns))
        for batch in self._source.batches:
            lines: list[bytes] = []
            for row in batch:
                written = line(row, self._source.columns)
                if self._is_full(len(written)):
                    yield b"".join([*lines, self._last_line()])
                    return
                lines.append(self._counted(written))
                self.rows += 1
            yield b"".join(lines)  # even when empty: the server notices a closed connection between chunks

    def _counted(self, written: bytes) -> bytes:
        self.bytes += len(written)
        return written

    def _is_full(self, more: int) -> bool:
        if self.rows >= self._bound.rows:
            self.cut = f"cut after {self.rows:,} rows (the limit of an export); there are more"
        elif self.bytes + more > self._bound.bytes:
            self.cut = f"cut after {self.bytes:,} bytes (limit: {self._bound.bytes:,}); there are more"
        return bool(self.cut)

    def _last_line(self) -> bytes:
        if self._form is Format.CSV:
            return _csv_cells([f"# {self.cut}"])
        return json.dumps({"signalbox_export": {"cut": self.cut, "rows": self.rows}}).encode() + b"\n"


def _json_line(row: Row, columns: Sequence[str]) -> bytes:
    members = (f"{json.dumps(name)}: {_json(row[name])}" for name in columns)
    return f"{{{', '.join(members)}}}\n".encode()


def _json(value: Any) -> str:
    return str(value) if isinstance(value, Document) else json.dumps(_plain(value), ensure_ascii=False)


def _csv_line(row: Row, columns: Sequence[str]) -> bytes:
    return _csv_cells(row[name] for name in columns)


def _csv_cells(values: Iterable[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([defused(value) if isinstance(value, str) else _plain(value) for value in values])
    return line.getvalue().encode()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def defused(text: str) -> str:
    """Put an apostrophe before a text that spreadsheets would take for a formula."""
    return f"'{text}" if text.startswith(CONTROL) or text.lstrip().startswith(FORMULA) else str(text)
