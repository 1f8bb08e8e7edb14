"""Samples for suggestions: the newest messages of a list, and what their payloads and attributes hold.

A sample shows common values, and is never the result of a search. A sample that takes too long is empty.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from django.utils import timezone

from dlq.filters import EACH, Path, Target
from dlq.masking.masks import MASK, Rules, mask
from dlq.search.checked_filter import everything
from dlq.search.finding import find
from queues.database.query import Query
from queues.database.time_limits import OutOfTime, time_limit
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import Order
from queues.messages.lists import newest_documents
from queues.reach import EVERYTHING, Reach
from signalbox.payloads.unreadable import decode

SAMPLE_DOCUMENTS = 50
LARGEST_DOCUMENT_BYTES = 32_768  # as stored; a larger one is not looked into
DEEPEST = 6
ELEMENTS = 5  # of a list
MILLISECONDS = 1_000  # limit for reading a sample, which usually takes a few
COLUMNS: Mapping[str, LiteralString] = {"payload": "payload", "attr": "attributes"}
"""Columns with documents, by key. Their values may be masked."""


@dataclass(frozen=True)
class Place:
    """The list a filter is typed for: dead letters, or messages of a queue."""

    target: Target = Target.DEAD_LETTER
    queue_id: int | None = None
    reach: Reach = EVERYTHING
    """Only names and dead letters of these queues are suggested."""


def newest(place: Place, most: int) -> Query:
    """Select the ids of the newest dead letters within reach."""
    return find(everything(place.reach), timezone.now()).ids(most, Order.NEWEST_FIRST)


def leaves_of(key: str, place: Place, masked: Rules) -> Iterable[tuple[Path, Any]]:
    """Yield every scalar of the newest documents with its path. Masked values are left out."""
    for document in _documents(key, place, masked):
        yield from _leaves(document)


def _leaves(document: Any, path: Path = ()) -> Iterable[tuple[Path, Any]]:
    """Yield every scalar with its path, down to DEEPEST steps; of a list only the first ELEMENTS."""
    if isinstance(document, dict) and len(path) < DEEPEST:
        for name, member in document.items():
            yield from _leaves(member, (*path, name))
    elif isinstance(document, list) and 0 < len(path) < DEEPEST:
        for element in document[:ELEMENTS]:
            yield from _leaves(element, (*path, EACH))
    elif path and not isinstance(document, dict | list) and document != MASK:
        yield path, document


def _documents(key: str, place: Place, masked: Rules) -> list[Any]:
    """Return the newest payloads or attributes, masked. Attributes may quote masked values of the payload."""
    column = COLUMNS[key]
    if place.target is Target.DEAD_LETTER:
        sample = dead_letter_rows.documents(newest(place, SAMPLE_DOCUMENTS))
    else:
        sample = newest_documents(place.queue_id or 0, SAMPLE_DOCUMENTS)
    query = Query(
        f"select {column}::text, case when body_sha256 is null and pg_column_size(payload) <= %s then payload::text end"
        f" from ({sample.sql}) newest where pg_column_size({column}) <= %s",
        [LARGEST_DOCUMENT_BYTES, *sample.params, LARGEST_DOCUMENT_BYTES],
    )
    return [_shown(key, decode(text, key), payload, masked) for text, payload in read_in_time(query)]


def _shown(key: str, document: Any, payload: str | None, masked: Rules) -> Any:
    if key == "payload":
        return mask(document, masked.payload)
    known = None if payload is None or not masked else decode(payload)
    return masked.view(known, document, complete=payload is not None).attributes(document)


def read_in_time(query: Query) -> list[tuple[Any, ...]]:
    """Read the rows of a query; no rows when it takes too long."""
    try:
        with time_limit(MILLISECONDS):
            return query.rows()
    except OutOfTime:
        return []
