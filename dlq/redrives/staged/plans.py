"""Plans of replays: a plan over staged messages, with the pages and the job of every redrive."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from dlq.redrives import impact, patching, plans
from dlq.redrives.impact import MAX_PATCHED_BYTES, ImpactQueries, ImpactSurvey
from dlq.redrives.plan_models import Plan
from dlq.redrives.plan_options import Options
from dlq.redrives.staged import sets
from dlq.redrives.staged.models import StagedMessage
from dlq.search.counting import COUNT_LIMIT, BoundedCount, read_in_time
from queues.database.query import Query
from queues.dead_letters import redriving
from queues.errors import InvalidArgument


def check(options: Options) -> Options:
    """Refuse wrong options before anything is read. A destination is required: an archived queue may be deleted."""
    if options.target_queue is None:
        raise InvalidArgument("target_queue must name the queue that they are to be sent to", "target_queue")
    plans.check_target(options.target_queue)
    patching.read(options.patch_kind, options.patch)
    return replace(options, max_redrives=None).checked()


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
    """Freeze the staged messages and save their plan, in one transaction. Raises `StagingLost`."""
    options = check(options)
    patch = patching.read(options.patch_kind, options.patch)
    with transaction.atomic():
        frozen = sets.freeze(staging_id, token, rows)
        seen = survey(staging_id, as_of)
        staged = frozen.staging.rows
        seen.count = BoundedCount(staged, exact=True)
        touched = replace(
            impact.describe(seen, options, patch, impact_queries(staging_id)),
            bytes=frozen.staging.bytes,
            large_bodies_gone=redriving.forgotten_bodies(Query(_BODIES, [staging_id])),
            dealt_with=frozen.dealt_with,
        )
        newest = StagedMessage.objects.filter(staging_id=staging_id).order_by("-message_id")
        return plans.write(
            Plan(
                filter_text=filter_text,
                as_of=as_of,
                lower_bound=frozen.lowest - 1,
                upper_bound=frozen.highest,
                count=staged,
                count_is_exact=True,
                impact_document=touched.as_json(),
                sample_ids=list(newest.values_list("message_id", flat=True)[: plans.SAMPLES]),
                options=options.as_json(),
                staging=frozen.staging,
                created_by=actor,
                reason=reason[:500],
            )
        )


def survey(staging_id: int, as_of: datetime) -> ImpactSurvey:
    """Survey the first ten thousand messages; their number is known."""
    seen = ImpactSurvey(as_of)
    read_in_time(Query(_SURVEY, [staging_id, COUNT_LIMIT + 1]), seen.look)
    return seen


def impact_queries(staging_id: int) -> ImpactQueries:
    """Make the queries for some messages of a set."""
    return ImpactQueries(
        conflicts=lambda ids, target: redriving.taken_ids_in(target, Query(_DEDUPLICATION_IDS, [staging_id, ids])),
        payloads=lambda ids: Query(_PAYLOADS, [staging_id, ids, MAX_PATCHED_BYTES]),
    )


# The same columns as the query for dead letters in `dlq.redrives.impact`. The outcome replaces a missing fingerprint.
_SURVEY = """
select s.message_id, coalesce(s.queue, '?'), coalesce(s.fingerprint, s.outcome), s.outcome, s.ended_at,
  coalesce(s.receive_count, 0), s.group_id, 0, s.deduplication_id is not null, s.body_sha256 is not null
from signalbox.staged_message s
where s.staging_id = %s
order by s.message_id
limit %s
"""

_PAYLOADS = """
select s.payload, s.body_sha256 is not null
from signalbox.staged_message s
where s.staging_id = %s and s.message_id = any(%s::bigint[]) and octet_length(s.payload) <= %s
"""

_DEDUPLICATION_IDS = """
select s.deduplication_id from signalbox.staged_message s where s.staging_id = %s and s.message_id = any(%s::bigint[])
"""
_BODIES = "select s.body_sha256 from signalbox.staged_message s where s.staging_id = %s and s.body_sha256 is not null"
