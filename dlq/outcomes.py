"""What became of what a redrive sent again, as far as that can be told without looking through a whole queue."""

from __future__ import annotations

from dataclasses import dataclass

from dlq.finding import Query
from dlq.time_limits import COUNT_MILLISECONDS, OutOfTime, time_limit

# Each is a few probes of an index: the newest tell how it goes.
MOST_EXAMINED = 10_000

OUTCOMES = """
with examined as materialized (
  select r.redriven_id, r.message_id, r.dead_letter_id
  from signalbox.redriven r
  where r.redrive_id = %s
  order by r.redriven_id desc
  limit %s
)
select count(*),
  count(*) filter (where d.dead_letter_id > e.dead_letter_id),
  count(l.message_id),
  count(*) filter (where s.receive_count > 0)
from examined e
left join signalbox.dead_letter d on d.message_id = e.message_id
left join signalbox.lease l on l.message_id = e.message_id
left join signalbox.scheduled s on s.message_id = e.message_id
"""


@dataclass(frozen=True)
class Outcomes:
    """Of the newest messages `examined`: dead again, in a consumer's hands, resting after a failure."""

    examined: int
    dead_again: int
    in_flight: int
    backing_off: int

    @property
    def done_or_waiting(self) -> int:
        """The rest: acknowledged, or not received yet."""
        return self.examined - self.dead_again - self.in_flight - self.backing_off


def outcomes(redrive_id: int) -> Outcomes | None:
    """Where the messages of a redrive are now; None when there was no time to find out."""
    try:
        with time_limit(COUNT_MILLISECONDS):
            [row] = Query(OUTCOMES, [redrive_id, MOST_EXAMINED]).rows()
    except OutOfTime:
        return None
    return Outcomes(*row)
