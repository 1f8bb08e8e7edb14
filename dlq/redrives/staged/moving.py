"""One batch of staged messages: they are sent as new messages and deleted from the set in the same transaction.

A message that the limits of the destination refuse waits. The order is kept, so all later messages wait too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db import transaction

from dlq.jobs.models import Redrive
from dlq.redrives import patching
from dlq.redrives.moving import Moved, patched
from dlq.redrives.plan_options import Options
from dlq.redrives.staged.models import StagedMessage
from dlq.search.selecting import NextIds
from queues import bulk_verbs
from queues.database.query import Query
from queues.errors import QuotaExceeded
from queues.models import Queue
from signalbox.tracing import spans

BATCH_MESSAGES = 1_000
# Large messages go in smaller batches, because one backend holds a batch in memory.
BATCH_BYTES = 16 * 1024 * 1024


def next_ids(job: Redrive, limit: int) -> NextIds:
    """Return the next messages of the job's set, in the order in which they were sent originally."""
    ids = [row[0] for row in Query(_NEXT, [job.staging_id, job.cursor, job.upper_bound, limit, BATCH_BYTES]).rows()]
    return NextIds(ids, ids[-1] if ids else job.upper_bound)


_NEXT = """
select n.message_id
from (
  select s.message_id,
    sum(octet_length(s.payload)) over (order by s.message_id) - octet_length(s.payload) as bytes_before
  from signalbox.staged_message s
  where s.staging_id = %s and s.message_id > %s and s.message_id <= %s
  order by s.message_id
  limit %s
) n
where n.bytes_before < %s
order by n.message_id
"""


def move(job: Redrive, ids: Sequence[int], options: Options) -> Moved:
    """Send these messages, except those that must be skipped, up to the first for which there is no room."""
    left: Counter[str] = Counter()
    going, payloads = list(ids), None
    if patch := patching.read(options.patch_kind, options.patch):
        going, payloads = patched(going, _payloads(job, going), patch, left)
    if not going:
        return Moved(0, +left)
    with spans.moved(job.target_queue or "", _traceparents(job, going)):
        sent, kept, refusal = _send(job, going, payloads)
    if refusal and refusal.retry_after is None and not sent and not kept:
        left["quota"] += 1  # the first message alone exceeds the limit
        return Moved(0, +left, going[1:])
    answered = set(sent) | set(kept)
    left.update(kept.values())
    unsent = [one for one in going if one > max(answered, default=0)] if refusal else []
    left["taken"] += len(going) - len(answered) - len(unsent)
    StagedMessage.objects.filter(staging_id=job.staging_id or 0, message_id__in=sent).delete()
    return Moved(len(sent), +left, unsent, str(refusal) if unsent else "")


def _send(
    job: Redrive, ids: Sequence[int], payloads: str | None
) -> tuple[list[int], dict[int, str], QuotaExceeded | None]:
    """Send the messages, or after a refusal half of them. Return the sent, the skipped, and the limit for the rest."""
    refusal: QuotaExceeded | None = None
    while True:
        try:
            with transaction.atomic():
                taken = Query(_TAKEN, [payloads, job.staging_id, list(ids)])
                rows = bulk_verbs.replay(taken, job.target_queue or "", job.redrive_id, job.created_by)
            sent = [archived for archived, because in rows if because is None]
            return sent, {archived: because for archived, because in rows if because is not None}, refusal
        except QuotaExceeded as refused:
            refusal = refused
            if len(ids) == 1:
                return [], {}, refusal
            ids = ids[: len(ids) // 2]


# Some messages have edited payloads, in a JSON object by id.
_TAKEN = """
select s.message_id, coalesce(%s::jsonb -> s.message_id::text, s.payload::jsonb) as payload,
  s.attributes::jsonb as attributes, s.priority::int as priority,
  s.group_id, s.deduplication_id, s.trace_id, s.body_sha256, s.fingerprint
from signalbox.staged_message s
where s.staging_id = %s and s.message_id = any(%s::bigint[])
order by s.message_id
for update skip locked
"""


def _payloads(job: Redrive, ids: Sequence[int]) -> list[tuple[int, str, bool, int]]:
    """(id, payload, whether its body is in a store, the most bytes that the destination takes) of each."""
    taken = Queue.objects.filter(name=job.target_queue).values_list("max_payload_bytes", flat=True).first()
    most_bytes = taken or patching.INLINE_BYTES
    rows = StagedMessage.objects.filter(staging_id=job.staging_id or 0, message_id__in=ids).order_by("message_id")
    found = rows.values_list("message_id", "payload", "body_sha256")
    return [(message_id, payload, sha256 is not None, most_bytes) for message_id, payload, sha256 in found]


def _traceparents(job: Redrive, ids: Sequence[int]) -> list[str]:
    """Return the trace parents of the original sends; none when tracing is off."""
    if not spans.installed():
        return []
    return [row[0] for row in Query(_TRACEPARENTS, [job.staging_id, list(ids)]).rows()]


_TRACEPARENTS = """
select s.attributes::jsonb ->> 'traceparent'
from signalbox.staged_message s
where s.staging_id = %s and s.message_id = any(%s::bigint[]) and s.attributes::jsonb ->> 'traceparent' is not null
limit 128
"""
