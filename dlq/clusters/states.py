"""Where a cluster stands: as somebody said, unless it has come back since."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from dlq.cluster_models import ClusterCare


class State(StrEnum):
    """The words of a cluster's state, as people read them."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    REGRESSED = "regressed"  # nobody says so: it follows from a death


STATES = tuple(State)

# The same in SQL: of a cluster `x` with its care `k`, if it has any.
STATE_SQL = """case
    when k.state = 'resolved' and x.last_seen > k.state_changed_at then 'regressed'
    when x.again_at > coalesce(k.state_changed_at, '-infinity') then 'regressed'
    else coalesce(k.state, 'open')
  end"""


def state_of(care: ClusterCare | None, last_seen: datetime, again_at: datetime | None) -> State:
    """Resolved and died of since, or died of again after a redrive: regressed, until somebody says something anew."""
    changed_at = care.state_changed_at if care else None
    if care and care.state == State.RESOLVED and changed_at and last_seen > changed_at:
        return State.REGRESSED
    if again_at and (changed_at is None or again_at > changed_at):
        return State.REGRESSED
    return State(care.state) if care else State.OPEN
