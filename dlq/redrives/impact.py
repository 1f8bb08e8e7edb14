"""The impact of a plan: queues, tenants, causes, ages and groups of the first ten thousand selected messages.

The plan says how many messages were read and whether these are all. A part for which the time is too short is left out
and marked: a plan is made within a second for any number of messages.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dlq.redrives.patching import DoesNotApply, Patch
from dlq.redrives.plan_models import GroupImpact, Impact, PatchTrial
from dlq.redrives.plan_options import Options
from dlq.search.counting import COUNT_LIMIT, BoundedCount, read_in_time
from dlq.search.finding import Search
from queues.database.query import Query
from queues.database.time_limits import LIST_MILLISECONDS, OutOfTime, time_limit
from queues.dead_letters import redriving
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import Order
from queues.models import Queue

MAX_NAMED = 20
MAX_CANARIES = 1_000
MAX_PATCHED = 500
MAX_PATCHED_BYTES = 65_536
TRIED_SECONDS = 0.5  # limit of a patch trial, which ends after the payload in hand
# (below this many seconds, in words)
AGES = ((3_600, "under 1 h"), (86_400, "1 h to 1 d"), (7 * 86_400, "1 to 7 d"), (30 * 86_400, "7 to 30 d"))
OLDER = "over 30 d"


@dataclass
class ImpactSurvey:
    """Counts of the messages that were read."""

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
    dead_letters: list[int] = field(default_factory=list)
    with_keys: list[int] = field(default_factory=list)
    large_bodies: int = 0

    def look(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for dead_letter, source, fingerprint, words, died_at, attempts, group, redrives, has_key, is_large in rows:
            if len(self.dead_letters) < MAX_PATCHED:
                self.dead_letters.append(dead_letter)
            self.sources[source] += 1
            self.fingerprints[fingerprint] += 1
            self.words[fingerprint] = words
            self.canaries[fingerprint] = min(dead_letter, self.canaries.get(fingerprint, dead_letter))
            seconds = (self.as_of - died_at).total_seconds()
            self.ages[next((words for most, words in AGES if seconds < most), OLDER)] += 1
            self.attempts[attempts] += 1
            self.redriven[redrives] += 1
            if group is not None:
                self.groups[source, group] += 1
            if has_key:
                self.with_keys.append(dead_letter)
            self.large_bodies += is_large


@dataclass(frozen=True)
class ImpactQueries:
    """Queries about some messages, by their ids."""

    conflicts: Callable[[list[int], str | None], Query]
    """Counts messages whose deduplication id another message of the target queue holds."""
    payloads: Callable[[list[int]], Query]
    """Selects (payload, whether it is in a store) of messages that are small enough for a trial of the patch."""


def survey(search: Search, as_of: datetime) -> ImpactSurvey:
    """Count the messages of the search and survey them, for at most COUNT_MILLISECONDS."""
    seen = ImpactSurvey(as_of)
    rows = dead_letter_rows.facts(search.ids(COUNT_LIMIT + 1, Order.ANY))
    seen.count = read_in_time(rows, seen.look)
    return seen


def describe(seen: ImpactSurvey, options: Options, patch: Patch | None, queries: ImpactQueries | None = None) -> Impact:
    """Return the impact for the plan; without other `queries`, the messages are dead letters."""
    queries, commonest = queries or DEAD_LETTERS, seen.fingerprints.most_common()
    most_redrives = math.inf if options.max_redrives is None else options.max_redrives
    queues = {queue.name: queue for queue in Queue.objects.select_related("tenant").filter(name__in=seen.sources)}
    return Impact(
        looked_at=sum(seen.sources.values()),
        sources=seen.sources.most_common(MAX_NAMED),
        source_count=len(seen.sources),
        tenants=_tenants(seen.sources, queues),
        fingerprints=[(one, seen.words[one], number) for one, number in commonest[:MAX_NAMED]],
        fingerprint_count=len(seen.fingerprints),
        ages=[(words, seen.ages[words]) for words in (*(one for _, one in AGES), OLDER) if seen.ages[words]],
        attempts=sorted(seen.attempts.items())[:MAX_NAMED],
        groups=_groups(seen.groups, queues),
        redriven=sorted((times, number) for times, number in seen.redriven.items() if times)[:MAX_NAMED],
        left_out=sum(number for times, number in seen.redriven.items() if times > most_redrives),
        large_bodies=seen.large_bodies,
        conflicts=_conflicts(seen.with_keys, options.target_queue, queries),
        patch=_tried(patch, seen.dead_letters, queries) if patch else None,
        # The oldest of each fingerprint, the most frequent fingerprint first.
        canaries=[seen.canaries[one] for one, _ in commonest[:MAX_CANARIES]] if options.canary_per_group else [],
    )


def _tenants(sources: Mapping[str, int], queues: Mapping[str, Queue]) -> list[tuple[str, int]]:
    tenants: Counter[str] = Counter()
    for name, number in sources.items():
        tenants[queues[name].tenant.name if name in queues else "—"] += number
    return tenants.most_common(MAX_NAMED)


def _groups(groups: Counter[tuple[str, str]], queues: Mapping[str, Queue]) -> GroupImpact:
    """Count message groups of FIFO queues, whose order a redrive keeps."""
    names = {name for name, queue in queues.items() if queue.mode == "fifo"}
    fifo = Counter({key: number for key, number in groups.items() if key[0] in names})
    largest = [(source, group, number) for (source, group), number in fifo.most_common(5)]
    return GroupImpact(len(fifo), sum(fifo.values()), largest)


def _conflicts(dead_letters: list[int], target_queue: str | None, queries: ImpactQueries) -> int | None:
    """Count messages whose deduplication id another message holds, which are skipped; None: no time to count."""
    if not dead_letters:
        return 0
    try:
        with time_limit(LIST_MILLISECONDS):
            return int(queries.conflicts(dead_letters, target_queue).rows()[0][0])
    except OutOfTime:
        return None


DEAD_LETTERS = ImpactQueries(
    conflicts=redriving.taken_ids,
    payloads=lambda dead_letters: redriving.small_payloads(dead_letters, MAX_PATCHED_BYTES),
)


def _tried(patch: Patch, dead_letters: list[int], queries: ImpactQueries) -> PatchTrial:
    try:
        with time_limit(LIST_MILLISECONDS):
            rows = queries.payloads(dead_letters).rows()
    except OutOfTime:
        return PatchTrial()
    why: Counter[str] = Counter()
    tried, until = 0, time.monotonic() + TRIED_SECONDS
    for text, is_large in rows:
        problem = "its body is in a store" if is_large else _problem(patch, text)
        if problem:
            why[problem[:200]] += 1
        tried += 1
        if time.monotonic() > until:
            break
    return PatchTrial(tried, sum(why.values()), why.most_common(5))


def _problem(patch: Patch, text: str) -> str:
    try:
        patch.apply(text)
    except DoesNotApply as problem:
        return str(problem)
    return ""
