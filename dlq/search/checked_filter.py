"""Filter that may reach SQL: read once, checked once, held to one reach.

`check_filter` makes it at the door: the filter bar of a page, a call of the API, a command. Whatever stands behind the
door (lists, counts, plans, exports, jobs) takes a `CheckedFilter` and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import psycopg
from django.db import DataError, connection

from dlq.failure_groups.models import widened
from dlq.filters import Filter, FilterError, Predicate, Target, Term, parse
from dlq.filters.compile import compile_terms, reached
from dlq.filters.conditions import every
from queues.database.time_limits import OutOfTime, time_limit
from queues.reach import EVERYTHING, Reach

PATTERN_READ_MILLISECONDS = 5_000
EXAMPLE_PATTERN = "a simpler one, such as /timed? out/"


@dataclass(frozen=True)
class CheckedFilter:
    """A filter that can be run. `filter` is what was typed; `str()` gives it in canonical text."""

    filter: Filter
    matching: Filter
    """The typed filter with every fingerprint that people merged into the failure groups it names."""
    reach: Reach = EVERYTHING
    """Whose rows are looked at: no part of the text. A job is held to a reach by terms (`dlq.search.reach.held_to`)."""

    def __str__(self) -> str:
        return str(self.filter)

    def __bool__(self) -> bool:
        return bool(self.filter)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that are compiled."""
        return self.matching.terms

    def frozen(self, as_of: datetime | None) -> CheckedFilter:
        """Return the filter as a job keeps it: its groups in full, or, of a look at some time, as that look had them.

        Merging or splitting groups afterwards changes nothing: neither what was seen nor what is taken.
        """
        return replace(self, filter=self.matching) if as_of is None else replace(self, matching=self.filter)

    def compile(self, target: Target, now: datetime, terms: tuple[Term, ...] | None = None) -> Predicate:
        """Return the condition on the rows of `target` within reach, of some of its terms or all; ages up to `now`."""
        found = compile_terms(self.terms if terms is None else terms, target, now)
        return found if self.reach.is_everything else every([found, reached(self.reach, target)])

    @property
    def reads_bodies(self) -> bool:
        """Tell whether one row may take long: a pattern has to match it, or a word is looked for in its payload."""
        return bool(self.matching.patterns) or any(term.key == "text" for term in self.terms)

    def too_slow(self) -> FilterError:
        """Return the mistake to report when a few messages already took too long: a pattern, where there is one."""
        if self.matching.patterns:
            return self.matching.patterns[0].error("This pattern takes too long to match.", EXAMPLE_PATTERN)
        message = "This takes too long to look for."
        return self.terms[-1].error(message, "a queue, a class or an id beside it")


def check_filter(
    given: str | Filter, reach: Reach = EVERYTHING, targets: tuple[Target, ...] = (Target.DEAD_LETTER,)
) -> CheckedFilter:
    """Read a filter for the rows of all `targets`. Each pattern costs one statement, and naming a fingerprint another.

    Raises `FilterError` for text that does not read, a key that a target cannot answer, and a pattern that PostgreSQL
    cannot read.
    """
    read = parse(given) if isinstance(given, str) else given
    for target in targets:
        for term in read.terms:
            term.check_target(target)
    check_patterns(read)
    return CheckedFilter(read, widened(read), reach)


def check_patterns(read: Filter) -> None:
    """Raise `FilterError` at the first pattern that PostgreSQL cannot read. A statement for each; none without.

    PostgreSQL's dialect is its own, so nothing else judges a pattern.
    """
    for pattern in read.patterns:
        try:
            with time_limit(PATTERN_READ_MILLISECONDS), connection.cursor() as cursor:
                cursor.execute("select '' ~ %s::text", [pattern.text])
        except OutOfTime:
            raise pattern.error("This pattern takes too long to read.", EXAMPLE_PATTERN) from None
        except DataError as error:
            message = f"PostgreSQL cannot read this pattern{_why(error)}."
            raise pattern.error(message, "a regular expression such as /timed? out/") from None


def everything(reach: Reach = EVERYTHING) -> CheckedFilter:
    """Return the filter that selects every row within reach."""
    return CheckedFilter(Filter(), Filter(), reach)


def stored_filter(text: str) -> CheckedFilter:
    """Read the text of a plan or a job, which was checked when it was made and selects what it selected then."""
    read = parse(text)
    return CheckedFilter(read, read)


def _why(error: DataError) -> str:
    """Return what the server says behind its own first words."""
    said = error.__cause__.diag.message_primary if isinstance(error.__cause__, psycopg.Error) else None
    return f": {said.partition(': ')[2]}" if said and ": " in said else ""
