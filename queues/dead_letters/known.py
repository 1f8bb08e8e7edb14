"""Error classes and queues that dead letters have, found by part of their names.

Classes are found by jumps in their index, from each class to the next: the cost is that of the classes, whatever the
number of dead letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from queues.database.query import Query

_CLASSES: LiteralString = """
with recursive known as (
  (select min(error_class) as error_class from signalbox.dead_letter)
  union all
  select (select min(d.error_class) from signalbox.dead_letter d where d.error_class > known.error_class)
  from known
  where known.error_class is not null
)
select error_class from known where error_class is not null and {condition} limit %s
"""
_NAMED = _CLASSES.format(condition="(error_class = any(%s::text[]) or error_class like any(%s::text[]))")
_CONTAINING = _CLASSES.format(condition="error_class ilike any(%s::text[])")


def classes_named(names: Sequence[str], ends: Sequence[str], limit: int) -> Query:
    """Select the classes that have one of these names, or end as a pattern of LIKE says."""
    return Query(_NAMED, [list(names), list(ends), limit])


def classes_containing(texts: Sequence[str], limit: int) -> Query:
    """Select the classes that match one of these patterns of LIKE, in either case."""
    return Query(_CONTAINING, [list(texts), limit])


def queues_containing(texts: Sequence[str], limit: int) -> Query:
    """Select the ids of the queues whose names match one of these patterns of LIKE, in either case."""
    return Query("select queue_id from signalbox.queue where name ilike any(%s::text[]) limit %s", [list(texts), limit])
