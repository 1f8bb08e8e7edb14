"""Checked filter: a filter that was parsed and checked once, and is limited to one reach.

Pages, the API and commands make it from user input with `check_filter`. Lists, counts, plans, exports and jobs take
only a `CheckedFilter`.
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
    """A filter that can be run. `filter` is the typed one; `str()` gives its canonical text."""

    filter: Filter
    matching: Filter
    """The typed filter, with all fingerprints of each failure group that it names."""
    reach: Reach = EVERYTHING
    """The queues whose rows may be read. The text does not have it; `dlq.search.reach.held_to` adds terms for a job."""

    def __str__(self) -> str:
        return str(self.filter)

    def __bool__(self) -> bool:
        return bool(self.filter)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that are compiled."""
        return self.matching.terms

    def frozen(self, as_of: datetime | None) -> CheckedFilter:
        """Return the filter that a job keeps, with all fingerprints of its failure groups.

        With the time of a preview in `as_of`, the filter comes from that preview and is kept as it is. So groups that
        are merged or split after a preview change nothing in its job.
        """
        return replace(self, filter=self.matching) if as_of is None else replace(self, matching=self.filter)

    def compile(self, target: Target, now: datetime, terms: tuple[Term, ...] | None = None) -> Predicate:
        """Return the condition on the rows of `target` within reach, of some of its terms or all; ages up to `now`."""
        found = compile_terms(self.terms if terms is None else terms, target, now)
        return found if self.reach.is_everything else every([found, reached(self.reach, target)])

    @property
    def reads_bodies(self) -> bool:
        """Tell whether one row may take long, because a pattern or a word is searched in its payload or error."""
        return bool(self.matching.patterns) or any(term.key == "text" for term in self.terms)

    def too_slow(self) -> FilterError:
        """Return the error for a search that took too long on few messages: it marks the pattern, if there is one."""
        if self.matching.patterns:
            return self.matching.patterns[0].error("This pattern takes too long to match.", EXAMPLE_PATTERN)
        message = "This takes too long to look for."
        return self.terms[-1].error(message, "a queue, a class or an id beside it")


def check_filter(
    given: str | Filter, reach: Reach = EVERYTHING, targets: tuple[Target, ...] = (Target.DEAD_LETTER,)
) -> CheckedFilter:
    """Read a filter for the rows of all `targets`. Each pattern costs one statement, and naming a fingerprint another.

    Raises `FilterError` for text that cannot be parsed, a key that a target cannot answer, and a pattern that
    PostgreSQL cannot read.
    """
    read = parse(given) if isinstance(given, str) else given
    for target in targets:
        for term in read.terms:
            term.check_target(target)
    check_patterns(read)
    return CheckedFilter(read, widened(read), reach)


def check_patterns(read: Filter) -> None:
    """Raise `FilterError` at the first pattern that PostgreSQL cannot read. One statement for each pattern.

    Only PostgreSQL can check a pattern, because its regular expressions are a dialect of their own.
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
    """Parse the text that a plan or a job keeps. It was checked when the job was made, and names all fingerprints."""
    read = parse(text)
    return CheckedFilter(read, read)


def _why(error: DataError) -> str:
    """Return the reason in the server's error, without the general words before its first colon."""
    said = error.__cause__.diag.message_primary if isinstance(error.__cause__, psycopg.Error) else None
    return f": {said.partition(': ')[2]}" if said and ": " in said else ""
