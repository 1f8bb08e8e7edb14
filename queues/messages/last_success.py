"""The last success of a dead letter's kind: what to hold beside a failure, to see what was different.

It is looked for among the newest that were acknowledged in the queue where the message died, by an index of their time:
one of the same FIFO group first, then one whose attributes name the same kind, then the newest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queues.database.query import Query
from queues.database.sql_names import rendered
from queues.database.time_limits import LIST_MILLISECONDS, OutOfTime, time_limit
from queues.models import DeadLetter
from signalbox.unreadable import decode

ACKS_EXAMINED = 50  # each of up to some hundred messages
MESSAGES_EXAMINED = 200
KIND_ATTRIBUTES = ("kind", "type", "event")

NEWEST_SUCCESSES = rendered("""
with acked as materialized (
  select s.message_ids, s.settled_at, s.consumer
  from signalbox.settled s
  where s.queue_id = %s and s.outcome = {outcome.acked}
  order by s.settled_at desc
  limit %s
), one as materialized (
  select m.message_id, a.settled_at, a.consumer
  from acked a, unnest(a.message_ids) m(message_id)
  order by a.settled_at desc, m.message_id desc
  limit %s
)
select o.message_id, o.settled_at, o.consumer, b.message_id is not null, b.body_sha256 is not null,
  b.payload, b.attributes, b.group_id, b.sent_at
from one o
left join signalbox.message b on b.queue_id = %s and b.message_id = o.message_id
order by (b.group_id = %s) desc nulls last,
  (exists (select from unnest(%s::text[]) k where b.attributes ->> k = %s::jsonb ->> k)) desc nulls last,
  b.message_id is null, o.settled_at desc, o.message_id desc
limit 1
""")


@dataclass(frozen=True)
class Success:
    """A message that was acknowledged. Not `kept`: the log has dropped its body. `large`: that is elsewhere."""

    message_id: int
    settled_at: datetime
    consumer: str | None
    kept: bool
    large: bool
    payload: Any
    attributes: dict[str, Any] | None
    group_id: str | None
    sent_at: datetime | None


def last_success(letter: DeadLetter) -> Success | None:
    """The success most like it among the newest of its queue; None when there is none, or no time to find it."""
    attributes = json.dumps(letter.attributes if isinstance(letter.attributes, dict) else {})
    parameters: list[Any] = [letter.source_id, ACKS_EXAMINED, MESSAGES_EXAMINED, letter.source_id]
    parameters += [letter.group_id, list(KIND_ATTRIBUTES), attributes]
    try:
        with time_limit(10 * LIST_MILLISECONDS):
            rows = Query(NEWEST_SUCCESSES, parameters).rows()
    except OutOfTime:
        return None
    if not rows:
        return None
    *known, payload, attributes, group_id, sent_at = rows[0]
    # Documents come as Django's connection hands them out: as text.
    documents = (decode(text) if isinstance(text, str) else text for text in (payload, attributes))
    return Success(*[*known, *documents, group_id, sent_at])
