"""What stands between a ready message and the next receive: who goes first, and whether there is room in flight.

Counted from the heads of indexes to a hundred and no further, so that a long queue costs what a short one does.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from queues.models import Queue, ReadyTicket

MOST_AHEAD = 100  # counted; more are more than that
LIMITS_IN_FLIGHT = 2  # in Queue.guards


@dataclass(frozen=True)
class Ahead:
    """Ready messages of a `higher` priority and `earlier` ones of its own, counted up to MOST_AHEAD + 1.

    `room` is what may still be in flight, by the queue's limit and its tenant's, and `in_flight` how many of the queue
    are; both are None where nothing limits them.
    """

    higher: int
    earlier: int
    room: int | None
    in_flight: int | None


def look_ahead(queue: Queue, ticket: ReadyTicket) -> Ahead:
    """One query."""
    arguments = {
        "queue_id": queue.queue_id,
        "message_id": ticket.message_id,
        "priority": ticket.priority,
        "ready_at": ticket.ready_at,
        "most": MOST_AHEAD + 1,
        "limited": bool(queue.guards & LIMITS_IN_FLIGHT),
        "limit": queue.max_in_flight,
    }
    with connection.cursor() as cursor:
        cursor.execute(_AHEAD, arguments)
        return Ahead(*cursor.fetchone())


_AHEAD = """
select
  (select count(*) from (
    select from signalbox.ready r where r.queue_id = %(queue_id)s and r.priority > %(priority)s limit %(most)s
  ) higher),
  (select count(*) from (
    select from signalbox.ready r
    where r.queue_id = %(queue_id)s and r.priority = %(priority)s
      and r.ready_at <= %(ready_at)s and (r.ready_at, r.message_id) < (%(ready_at)s, %(message_id)s)
    limit %(most)s
  ) earlier),
  case when %(limited)s then signalbox._free_in_flight(%(queue_id)s) end,
  case when %(limit)s > 0 then (select count(*) from (
    select from signalbox.lease l where l.queue_id = %(queue_id)s and l.deadline > now() limit %(limit)s
  ) held) end
"""
