"""The messages of one partition of a stream, newest first: keyset pages by position, masked as the rules say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest

from dlq.browse import Page, Place
from dlq.browse.pages import page_of
from dlq.masking_rules import Masking
from queues import streams
from queues.stream_models import Stream

PAGE_ROWS = 50


@dataclass(frozen=True)
class StreamRow:
    """One message as a list may show it."""

    position: int
    key: str | None
    payload_text: str
    appended_at: datetime


def partition_of(request: HttpRequest, stream: Stream) -> int:
    """The partition in the address; the first where it names none that there is."""
    asked = request.GET.get("partition", "")
    chosen = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 4 else 0
    return chosen if chosen < stream.partitions else 0


def page(stream: Stream, partition: int, at: Place) -> Page[StreamRow]:
    """A page of one partition. One query, a probe of each segment however deep the page is."""
    before, after = _position(at.before), _position(at.after)
    rules = Masking().of(stream.name)
    found = streams.browse(stream, partition, above=before, below=after, most=PAGE_ROWS + 1)
    rows = [
        StreamRow(position, key, rules.mask_text(text) or "", appended_at) for position, key, text, appended_at in found
    ]
    place = Place(at.before if before is not None else "", at.after if before is None and after is not None else "")
    return page_of(rows, PAGE_ROWS, place, [str(row.position) for row in rows])


def _position(cursor: str) -> int | None:
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None
