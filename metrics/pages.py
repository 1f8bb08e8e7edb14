"""What scrapers are answered: bytes that were rendered once, and the same compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from metrics.collector import render_fleet, render_queues
from metrics.fleet import Fleet
from queues.counters import QueueNumbers

FAST = 1  # compresses twenty to one already; the next levels cost more than they save


@dataclass(frozen=True)
class Answer:
    """One page in Prometheus' text format."""

    plain: bytes

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.plain, FAST, mtime=0)


@dataclass(frozen=True)
class Pages:
    """The pages of one reading."""

    fleet: Answer
    queues: Answer


def render(fleet: Fleet) -> Pages:
    """Both pages, compressed as well: by whoever reads, so that no scrape does it."""
    queues, omitted = render_queues(fleet, up=True)
    pages = Pages(Answer(render_fleet(fleet, up=True, omitted=omitted)), Answer(queues))
    for answer in (pages.fleet, pages.queues):
        _ = answer.gzipped
    return pages


def without_numbers(fleet: Fleet | None) -> Pages:
    """What is left when the last reading is too old: that it is."""
    alone = Answer(render_fleet(fleet, up=False))
    return Pages(alone, alone)


class UnknownNameError(LookupError):
    """A tenant or queue was asked for by a name that none has."""


def render_only(fleet: Fleet, tenants: Iterable[str], queues: Iterable[str]) -> Answer:
    """The queues of these names, of these tenants: of both when both are given."""
    chosen = _chosen(fleet.queues, "tenant", list(tenants), lambda numbers: numbers.tenant)
    chosen = _chosen(chosen, "queue", list(queues), lambda numbers: numbers.name)
    return Answer(render_queues(fleet, up=True, only=chosen)[0])


def _chosen(all_queues, what, wanted, name_of) -> list[QueueNumbers]:  # type: ignore[no-untyped-def]
    known = {name_of(numbers) for numbers in all_queues}
    for name in wanted:
        if name not in known:
            raise UnknownNameError(f"there is no {what} {name!r}")
    return [numbers for numbers in all_queues if not wanted or name_of(numbers) in wanted]
