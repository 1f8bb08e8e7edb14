"""What only PostgreSQL knows of a filter's regular expressions: whether it can read them, and how long they take.

Its dialect is its own, so nothing else judges a pattern; and since some patterns take longer than anybody lives, every
statement that holds one has a time limit.
"""

from __future__ import annotations

import psycopg
from django.db import DataError, connection

from dlq.filters import Filter, FilterError, Pattern
from dlq.time_limits import OutOfTime, time_limit

READING_MILLISECONDS = 5_000
EXAMPLE = "a simpler one, such as /timed? out/"


def check_patterns(chosen: Filter) -> None:
    """Raise `FilterError` at the first pattern that PostgreSQL cannot read. A statement for each; none without."""
    for pattern in chosen.patterns:
        _check(pattern)


def too_slow(chosen: Filter) -> FilterError:
    """The mistake to tell when a few messages already took too long: that of the pattern, where there is one."""
    if chosen.patterns:
        return chosen.patterns[0].error("This pattern takes too long to match.", EXAMPLE)
    message = "This takes too long to look for."
    return chosen.terms[-1].error(message, "a queue, a class or an id beside it")


def _check(pattern: Pattern) -> None:
    try:
        with time_limit(READING_MILLISECONDS), connection.cursor() as cursor:
            cursor.execute("select '' ~ %s::text", [pattern.text])
    except OutOfTime:
        raise pattern.error("This pattern takes too long to read.", EXAMPLE) from None
    except DataError as error:
        message = f"PostgreSQL cannot read this pattern{_why(error)}."
        raise pattern.error(message, "a regular expression such as /timed? out/") from None


def _why(error: DataError) -> str:
    """What the server says behind its own first words."""
    said = error.__cause__.diag.message_primary if isinstance(error.__cause__, psycopg.Error) else None
    return f": {said.partition(': ')[2]}" if said and ": " in said else ""
