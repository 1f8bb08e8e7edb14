"""A plan over what was staged from the archive: the same page, the same job, another source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from dlq import patching, plans, radius, staging
from dlq.counting import COUNT_LIMIT, BoundedCount, read_in_time
from dlq.finding import Query
from dlq.models import Plan
from dlq.plan_options import Options
from dlq.radius import MOST_PATCHED_BYTES, Looks, Seen
from queues.errors import InvalidArgument


def check(options: Options) -> Options:
    """What can be said no to before anything is read. An archived queue may be gone, so where to must be said."""
    if options.target_queue is None:
        raise InvalidArgument("target_queue must name the queue that they are to be sent to", "target_queue")
    plans.check_target(options.target_queue)
    patching.read(options.patch_kind, options.patch)
    return replace(options, most_redrives=None).checked()


def make(
    staging_id: int,
    token: str,
    filter_text: str,
    *,
    rows: int,
    as_of: datetime,
    actor: str,
    reason: str,
    options: Options,
) -> Plan:
    """Freeze what was staged and write the plan of it, in one transaction or not at all. Raises `StagingLost`."""
    options = check(options)
    patch = patching.read(options.patch_kind, options.patch)
    with transaction.atomic():
        frozen = staging.freeze(staging_id, token, rows)
        seen = survey(staging_id, as_of)
        staged = frozen.staging.rows
        seen.count = BoundedCount(staged, exact=True)
        touched = radius.describe(seen, options, patch, looks_at(staging_id))
        return plans.write(
            Plan(
                filter_text=filter_text,
                as_of=as_of,
                lower_bound=frozen.lowest - 1,
                upper_bound=frozen.highest,
                count=staged,
                count_is_exact=True,
                radius=touched
                | {
                    "bytes": frozen.staging.bytes,
                    "large_bodies_gone": _bodies_gone(staging_id),
                    "dealt_with": frozen.dealt_with,
                },
                sample_ids=[row[0] for row in Query(_SAMPLES, [staging_id, plans.SAMPLES]).rows()],
                options=options.as_json(),
                staging=frozen.staging,
                created_by=actor,
                reason=reason[:500],
            )
        )


def survey(staging_id: int, as_of: datetime) -> Seen:
    """Look at the first ten thousand; how many there are is known."""
    seen = Seen(as_of)

    def look(rows: Iterable[tuple[Any, ...]]) -> None:
        seen.look(rows)

    read_in_time(Query(_SURVEY, [staging_id, COUNT_LIMIT + 1]), look)
    return seen


def looks_at(staging_id: int) -> Looks:
    """Closer looks at some of a set."""
    return Looks(
        conflicts=lambda ids, target: Query(_CONFLICTS, [target, staging_id, ids]),
        payloads=lambda ids: Query(_PAYLOADS, [staging_id, ids, MOST_PATCHED_BYTES]),
    )


# As `dlq.radius` asks for dead letters. What was never dead has no fingerprint, and is told by how it ended.
_SURVEY = """
select s.message_id, coalesce(s.queue, '?'), coalesce(s.fingerprint, s.outcome), s.outcome, s.ended_at,
  coalesce(s.receive_count, 0), s.group_id, 0, s.deduplication_id is not null, s.body_sha256 is not null
from signalbox.staged_message s
where s.staging_id = %s
order by s.message_id
limit %s
"""

_SAMPLES = """
select s.message_id from signalbox.staged_message s where s.staging_id = %s order by s.message_id desc limit %s
"""

_PAYLOADS = """
select s.payload, s.body_sha256 is not null
from signalbox.staged_message s
where s.staging_id = %s and s.message_id = any(%s::bigint[]) and octet_length(s.payload) <= %s
"""

_CONFLICTS = """
select count(*)
from signalbox.queue q
join signalbox.staged_message s on true
where q.name = %s and s.staging_id = %s and s.message_id = any(%s::bigint[])
  and (
    exists (
      select from signalbox.dedup_in_flight k where k.queue_id = q.queue_id and k.deduplication_id = s.deduplication_id
    ) or exists (
      select from signalbox.dedup d
      where d.queue_id = q.queue_id and d.deduplication_id = s.deduplication_id and d.expires_at > clock_timestamp()
        and d.sent_at > clock_timestamp() - interval '24 hours'
    )
  )
"""


def _bodies_gone(staging_id: int) -> int:
    """How many have a large body that the store has forgotten."""
    [(number,)] = Query(_BODIES_GONE, [staging_id]).rows()
    return int(number)


_BODIES_GONE = """
select count(*)
from signalbox.staged_message s
where s.staging_id = %s and s.body_sha256 is not null
  and not exists (select from signalbox.large_body b where b.sha256 = s.body_sha256)
"""
