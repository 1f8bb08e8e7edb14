"""The dead letters next to one: those of the same source queue that failed just before and just after it."""

from __future__ import annotations

from dataclasses import dataclass

from queues.database.query import fetch
from queues.models import DeadLetter


@dataclass(frozen=True)
class Neighbours:
    """Message ids of the older and the newer dead letter; None at either end."""

    older: int | None
    newer: int | None


def neighbours_of(letter: DeadLetter) -> Neighbours:
    """Find the neighbours of a dead letter among those of its source queue. One query."""
    [ids] = fetch(_NEIGHBOURS, {"source": letter.source_id, "id": letter.pk})
    return Neighbours(*ids)


_NEIGHBOURS = """
select
  (select d.message_id from signalbox.dead_letter d
   where d.source_queue_id = %(source)s and d.dead_letter_id < %(id)s order by d.dead_letter_id desc limit 1),
  (select d.message_id from signalbox.dead_letter d
   where d.source_queue_id = %(source)s and d.dead_letter_id > %(id)s order by d.dead_letter_id limit 1)
"""
