"""The blast radius of a plan: whom a bulk action touches, told by looking at the first ten thousand for a moment.

Everything here is of those that were looked at; the plan says how many there are and whether that is all of them. What
there is no time for is left out and said to be: a plan starts within a second, however many messages wait.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dlq.counting import COUNT_LIMIT, BoundedCount, read_in_time
from dlq.finding import Order, Query, Search
from dlq.patching import DoesNotApply, Patch
from dlq.plan_options import Options
from dlq.time_limits import LIST_MILLISECONDS, OutOfTime, time_limit
from queues.models import Queue

MOST_NAMED = 20
MOST_CANARIES = 1_000
MOST_PATCHED = 500
MOST_PATCHED_BYTES = 65_536
TRIED_SECONDS = 0.5  # for trying a patch; with the payload under way it is tried to the end
# (up to so many seconds, in words)
AGES = ((3_600, "under 1 h"), (86_400, "1 h to 1 d"), (7 * 86_400, "1 to 7 d"), (30 * 86_400, "7 to 30 d"))
OLDER = "over 30 d"


@dataclass
class Seen:
    """What passed by while it was counted."""

    as_of: datetime
    count: BoundedCount = field(default_factory=lambda: BoundedCount(0, exact=False))
    sources: Counter[str] = field(default_factory=Counter)
    fingerprints: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    canaries: dict[str, int] = field(default_factory=dict)
    ages: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)
    groups: Counter[tuple[str, str]] = field(default_factory=Counter)
    redriven: Counter[int] = field(default_factory=Counter)
    letters: list[int] = field(default_factory=list)
    with_keys: list[int] = field(default_factory=list)
    large_bodies: int = 0

    def look(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for letter, source, fingerprint, words, died_at, attempts, group, redrives, has_key, is_large in rows:
            if len(self.letters) < MOST_PATCHED:
                self.letters.append(letter)
            self.sources[source] += 1
            self.fingerprints[fingerprint] += 1
            self.words[fingerprint] = words
            self.canaries[fingerprint] = min(letter, self.canaries.get(fingerprint, letter))
            self.ages[_age((self.as_of - died_at).total_seconds())] += 1
            self.attempts[attempts] += 1
            self.redriven[redrives] += 1
            if group is not None:
                self.groups[source, group] += 1
            if has_key:
                self.with_keys.append(letter)
            self.large_bodies += is_large


@dataclass(frozen=True)
class Looks:
    """How to look closer at some of them, by their ids."""

    conflicts: Callable[[list[int], str | None], Query]
    """Counts those whose deduplication id stands in the way, in a target queue."""
    payloads: Callable[[list[int]], Query]
    """(payload, whether it is in a store) of those that are not too large to try a patch on."""


def survey(search: Search, as_of: datetime) -> Seen:
    """Count what the search finds, and look at it while it passes; at most COUNT_MILLISECONDS."""
    seen = Seen(as_of)
    ids = search.ids(COUNT_LIMIT + 1, Order.ANY)
    rows = Query(
        "select d.dead_letter_id, d.source_queue, d.fingerprint, coalesce(d.error_class, d.reason), d.died_at,"
        " d.receive_count, d.group_id, d.redrive_count, d.deduplication_id is not null, d.body_sha256 is not null"
        f" from ({ids.sql}) found join signalbox.dead_letter d on d.dead_letter_id = found.dead_letter_id",
        ids.params,
    )
    seen.count = read_in_time(rows, seen.look)
    return seen


def describe(seen: Seen, options: Options, patch: Patch | None, looks: Looks | None = None) -> dict[str, Any]:
    """The radius as the plan keeps it; without other `looks`, of dead letters."""
    looks = looks or LETTERS
    queues = {queue.name: queue for queue in Queue.objects.select_related("tenant").filter(name__in=seen.sources)}
    return {
        "looked_at": sum(seen.sources.values()),
        "sources": seen.sources.most_common(MOST_NAMED),
        "source_count": len(seen.sources),
        "tenants": _tenants(seen.sources, queues),
        "fingerprints": [[one, seen.words[one], number] for one, number in seen.fingerprints.most_common(MOST_NAMED)],
        "fingerprint_count": len(seen.fingerprints),
        "ages": [[words, seen.ages[words]] for words in (*(one for _, one in AGES), OLDER) if seen.ages[words]],
        "attempts": sorted(seen.attempts.items())[:MOST_NAMED],
        "groups": _groups(seen.groups, queues),
        "redriven": sorted((times, number) for times, number in seen.redriven.items() if times)[:MOST_NAMED],
        "left_out": _left_out(seen.redriven, options.most_redrives),
        "large_bodies": seen.large_bodies,
        "conflicts": _conflicts(seen.with_keys, options.target_queue, looks),
        "patch": _tried(patch, seen.letters, looks) if patch else None,
        "canaries": _canaries(seen) if options.canary_per_cluster else [],
    }


def _age(seconds: float) -> str:
    return next((words for most, words in AGES if seconds < most), OLDER)


def _tenants(sources: Mapping[str, int], queues: Mapping[str, Queue]) -> list[tuple[str, int]]:
    tenants: Counter[str] = Counter()
    for name, number in sources.items():
        tenants[queues[name].tenant.name if name in queues else "—"] += number
    return tenants.most_common(MOST_NAMED)


def _groups(groups: Counter[tuple[str, str]], queues: Mapping[str, Queue]) -> dict[str, Any]:
    """Groups of FIFO queues: their order is kept, and each goes one at a time."""
    fifo = Counter(
        {key: number for key, number in groups.items() if key[0] in queues and queues[key[0]].mode == "fifo"}
    )
    largest = [[source, group, number] for (source, group), number in fifo.most_common(5)]
    return {"count": len(fifo), "messages": sum(fifo.values()), "largest": largest}


def _left_out(redriven: Mapping[int, int], most_redrives: int | None) -> int:
    if most_redrives is None:
        return 0
    return sum(number for times, number in redriven.items() if times > most_redrives)


def _canaries(seen: Seen) -> list[int]:
    """The oldest of each fingerprint, of the commonest first."""
    return [seen.canaries[one] for one, _ in seen.fingerprints.most_common(MOST_CANARIES)]


def _conflicts(letters: list[int], target_queue: str | None, looks: Looks) -> int | None:
    """How many hold a deduplication id that another message holds now, and so will stay; None: no time to tell."""
    if not letters:
        return 0
    try:
        with time_limit(LIST_MILLISECONDS):
            return int(looks.conflicts(letters, target_queue).rows()[0][0])
    except OutOfTime:
        return None


_CONFLICTS = """
select count(*)
from unnest(%s::bigint[]) given(dead_letter_id)
join signalbox.dead_letter d on d.dead_letter_id = given.dead_letter_id
left join signalbox.queue t on t.name = %s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id) and q.dedup_scope = 'in_flight'
where exists (
  select from signalbox.dedup_in_flight k where k.queue_id = q.queue_id and k.deduplication_id = d.deduplication_id
)
"""

_PAYLOADS = """
select d.payload::text, d.body_sha256 is not null
from unnest(%s::bigint[]) given(dead_letter_id)
join signalbox.dead_letter d on d.dead_letter_id = given.dead_letter_id
where pg_column_size(d.payload) <= %s
"""

LETTERS = Looks(
    conflicts=lambda letters, target: Query(_CONFLICTS, [letters, target]),
    payloads=lambda letters: Query(_PAYLOADS, [letters, MOST_PATCHED_BYTES]),
)


def _tried(patch: Patch, letters: list[int], looks: Looks) -> dict[str, Any]:
    """The patch on some of them: to how many it does not apply, and why."""
    try:
        with time_limit(LIST_MILLISECONDS):
            rows = looks.payloads(letters).rows()
    except OutOfTime:
        return {"looked_at": 0, "not_applied": 0, "why": []}
    why: Counter[str] = Counter()
    tried, until = 0, time.monotonic() + TRIED_SECONDS
    for text, is_large in rows:
        problem = "its body is in a store" if is_large else _problem(patch, text)
        if problem:
            why[problem[:200]] += 1
        tried += 1
        if time.monotonic() > until:
            break
    return {"looked_at": tried, "not_applied": sum(why.values()), "why": why.most_common(5)}


def _problem(patch: Patch, text: str) -> str:
    try:
        patch.apply(text)
    except DoesNotApply as problem:
        return str(problem)
    return ""
