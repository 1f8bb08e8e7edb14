"""What the data offers to whoever types a filter: names, causes, and paths and values from inside payloads.

Names come from their own small tables. Everything else comes from a sample, the newest few messages of the list: what
is offered is common, and never the result of a search. What takes too long is not offered.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from django.utils import timezone

from dlq.filters import EACH, Filter, FilterError, Literal, Path, Target, Term, complete, parse
from dlq.filters.readings import is_json_scalar
from dlq.filters.scanner import Scanner
from dlq.filters.syntax import render_value
from dlq.finding import Order, Query, find
from dlq.masking import MASK, Rules, mask
from dlq.time_limits import OutOfTime, time_limit
from queues.reach import EVERYTHING, Reach
from signalbox.unreadable import decode

MOST = 12  # offered at once
SAMPLE_ROWS = 500  # for causes
SAMPLE_DOCUMENTS = 50
LARGEST_DOCUMENT_BYTES = 32_768  # as stored; a larger one is not looked into
MOST_PATHS = 300
DEEPEST = 6
ELEMENTS = 5  # of a list
MILLISECONDS = 1_000  # for a look at a sample, which takes a few
NOTHING_MASKED = Rules()
MASKED = {"payload": "payload", "attr": "attributes"}


@dataclass(frozen=True)
class Suggestion:
    """`insert` may take the place of the characters from `start` to `end`; `goes_on`: one types on behind it."""

    insert: str
    help: str
    start: int
    end: int
    goes_on: bool = False


@dataclass(frozen=True)
class Place:
    """The list a filter is typed for: dead letters, or messages of a queue."""

    target: Target = Target.DEAD_LETTER
    queue_id: int | None = None
    reach: Reach = EVERYTHING
    """Whose names and dead letters are offered from."""


def suggest(
    text: str, cursor: int, place: Place, *, see_payloads: bool, masked: Rules = NOTHING_MASKED
) -> list[Suggestion]:
    """What may stand at the cursor, the likeliest first, and nothing that is `masked`; a few quick queries at most."""
    try:
        Scanner(text)
    except FilterError:  # too long, or nothing that a database could look for
        return []
    cursor = min(max(cursor, 0), len(text))
    typed = complete(text, cursor, place.target)
    offered: Iterable[tuple[str, str]]
    if typed.key:
        offered = [(option.text, option.help) for option in typed.options] or _values(
            typed.key, typed.prefix, place, see_payloads, masked
        )
    else:
        known = [(option.text, option.help) for option in typed.options]
        offered = [one for one in known if see_payloads or one[0].rstrip(":.") not in {*MASKED, "error"}]
        offered += _paths(typed.prefix, place, masked) if see_payloads else []
    return [
        Suggestion(insert, words, typed.position, cursor, goes_on=insert.endswith((":", ".")))
        for insert, words in offered
        if insert != typed.prefix
    ][:MOST]


# ---- values


def _values(written: str, prefix: str, place: Place, see_payloads: bool, masked: Rules) -> list[tuple[str, str]]:
    """Values of a key, as `-payload.a` or `queue`; none for what cannot be read."""
    try:
        [term] = parse(f"{written}:*" if written.partition(".")[2] else f"{written}:x").terms
    except (FilterError, ValueError):
        return []
    looked_for = prefix.removeprefix('"')
    if term.key in MASKED:
        return _values_at(term, looked_for, place, masked) if see_payloads else []
    query = _NAMES.get(term.key, _nothing)(looked_for, place)
    rows = _in_time(query) if query else []
    return [(render_value(term.key, Literal(row[0])), row[1]) for row in rows if row[0]]


def _nothing(prefix: str, place: Place) -> Query | None:
    return None


def _queues(prefix: str, place: Place) -> Query:
    condition, reached = place.reach.condition()
    return Query(
        "select q.name, case when q.is_dead_letter_queue then 'dead-letter queue' else 'queue' end"
        " from signalbox.queue q join signalbox.tenant o using (tenant_id)"
        f" where starts_with(lower(q.name), lower(%s)) and {condition}"
        " order by q.is_dead_letter_queue, q.name limit %s",
        [prefix, *reached, MOST],
    )


def _tenants(prefix: str, place: Place) -> Query:
    condition, reached = place.reach.condition()
    return Query(
        "select o.name, 'tenant' from signalbox.tenant o where starts_with(lower(o.name), lower(%s))"
        f" and ({'true' if place.reach.is_everything else 'false'} or exists ("
        f"select from signalbox.queue q where q.tenant_id = o.tenant_id and {condition})) order by o.name limit %s",
        [prefix, *reached, MOST],
    )


def _consumers(prefix: str, place: Place) -> Query | None:
    if place.queue_id is None:
        return _sampled("consumer")(prefix, place)
    return Query(
        "select consumer, 'consumer' from signalbox.consumer where queue_id = %s"
        " and starts_with(lower(consumer), lower(%s)) order by last_seen_at desc limit %s",
        [place.queue_id, prefix, MOST],
    )


def _sampled(column: LiteralString) -> Callable[[str, Place], Query | None]:
    """What a column of the newest dead letters holds, the commonest first."""

    def sampled(prefix: str, place: Place) -> Query | None:
        if place.target is not Target.DEAD_LETTER:
            return None
        newest = _newest(place, SAMPLE_ROWS)
        return Query(
            f"select value, count(*) || ' of the newest' from (select d.{column} as value"
            f" from ({newest.sql}) found join signalbox.dead_letter d using (dead_letter_id)) newest"
            " where length(value) < 200 and position(lower(%s) in lower(value)) > 0"
            " group by value order by count(*) desc, value limit %s",
            [*newest.params, prefix, MOST],
        )

    return sampled


def _newest(place: Place, most: int) -> Query:
    """The newest dead letters within reach, by their ids."""
    return find(Filter().within(place.reach), timezone.now()).ids(most, Order.NEWEST_FIRST)


_NAMES: Mapping[str, Callable[[str, Place], Query | None]] = {
    "queue": _queues,
    "tenant": _tenants,
    "consumer": _consumers,
    "class": _sampled("error_class"),
    "fp": _sampled("fingerprint"),
    "group": _sampled("group_id"),
}


# ---- inside documents


def _paths(prefix: str, place: Place, masked: Rules) -> list[tuple[str, str]]:
    """Paths that begin like `payload.ord`; none while no key with a path is being typed."""
    key = prefix.partition(".")[0].lower()
    if key not in MASKED or "." not in prefix:
        return []
    counted: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for document in _documents(key, place, masked):
        for path, leaf in _leaves(document):
            written = f"{Term(key, (), path).name}:"
            if written.lower().startswith(prefix.lower()) and (written in counted or len(counted) < MOST_PATHS):
                counted[written] += 1
                examples.setdefault(written, json.dumps(leaf, ensure_ascii=False)[:60])
    return [(written, f"such as {examples[written]}") for written, _ in counted.most_common(MOST)]


def _values_at(term: Term, prefix: str, place: Place, masked: Rules) -> list[tuple[str, str]]:
    counted: Counter[str] = Counter()
    for document in _documents(term.key, place, masked):
        for path, leaf in _leaves(document):
            if path == term.path and len(str(leaf)) < 200:
                counted[_literal(term.key, leaf)] += 1
    return [
        (written, f"{number} of the newest")
        for written, number in counted.most_common()
        if prefix.lower() in written.lower()
    ][:MOST]


def _literal(key: str, leaf: Any) -> str:
    if isinstance(leaf, str):
        return render_value(key, Literal(leaf, string_only=is_json_scalar(leaf)))
    return json.dumps(leaf)


def _leaves(document: Any, path: Path = ()) -> Iterable[tuple[Path, Any]]:
    """Every scalar with its path, not too deep; of a list only what stands at its beginning."""
    if isinstance(document, dict) and len(path) < DEEPEST:
        for name, member in document.items():
            yield from _leaves(member, (*path, name))
    elif isinstance(document, list) and 0 < len(path) < DEEPEST:
        for element in document[:ELEMENTS]:
            yield from _leaves(element, (*path, EACH))
    elif path and not isinstance(document, dict | list) and document != MASK:
        yield path, document


def _documents(key: str, place: Place, masked: Rules) -> list[Any]:
    """The newest payloads or attributes, as they may be shown: attributes may quote what is masked of the payload."""
    column: LiteralString = "payload" if key == "payload" else "attributes"
    if place.target is Target.DEAD_LETTER:
        letters = _newest(place, SAMPLE_DOCUMENTS)
        newest = Query(
            f"select d.payload, d.attributes, d.body_sha256 from ({letters.sql}) found"
            " join signalbox.dead_letter d using (dead_letter_id) order by d.dead_letter_id desc",
            letters.params,
        )
    else:
        newest = Query(
            "select payload, attributes, body_sha256 from signalbox.message"
            " where queue_id = %s order by message_id desc limit %s",
            [place.queue_id, SAMPLE_DOCUMENTS],
        )
    query = Query(
        f"select {column}::text, case when body_sha256 is null and pg_column_size(payload) <= %s then payload::text end"
        f" from ({newest.sql}) newest where pg_column_size({column}) <= %s",
        [LARGEST_DOCUMENT_BYTES, *newest.params, LARGEST_DOCUMENT_BYTES],
    )
    return [_shown(key, decode(text, key), payload, masked) for text, payload in _in_time(query)]


def _shown(key: str, document: Any, payload: str | None, masked: Rules) -> Any:
    if key == "payload":
        return mask(document, masked.payload)
    known = None if payload is None or not masked else decode(payload)
    return masked.view(known, document, complete=payload is not None).attributes(document)


def _in_time(query: Query) -> list[tuple[Any, ...]]:
    try:
        with time_limit(MILLISECONDS):
            return query.rows()
    except OutOfTime:
        return []
