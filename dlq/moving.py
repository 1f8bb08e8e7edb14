"""One batch of dead letters: which go, which are left and why, and what is changed on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dlq import patching, verbs
from dlq.finding import Query
from dlq.models import Redrive
from dlq.patching import DoesNotApply, Patch
from dlq.plan_options import Options
from queues.reach import SYSTEM_TENANT
from signalbox.tracing import spans

# Payloads travel to us and back: fewer of them at once.
BATCH_PATCHED = 100

# Why a selected letter stays: the key in the job's row, in words.
REASONS = {
    "taken": "in somebody else's hands",
    "redriven": "redriven too often",
    "deduplication": "another message holds its deduplication id",
    "patch": "the patch does not apply",
    "large_body": "its body is in a store and cannot be patched",
    "too_large": "larger than the destination takes",
    "unreadable": "JSON that clients cannot read",
    "large_body_gone": "its large body is in the store no more",
    "system": "a task of Signalbox itself, which can only be redriven unchanged to its own queue",
    "quota": "a limit of the destination would never let it in",
}


@dataclass(frozen=True)
class Moved:
    """What a batch did."""

    number: int
    left: Counter[str]
    unsent: Sequence[int] = ()
    """Those that had no room yet: they are next."""
    waits_for: str = ""
    """What keeps them waiting, in words."""


def move(job: Redrive, ids: Sequence[int], options: Options) -> Moved:
    """Send these again, but for those that are to stay."""
    left: Counter[str] = Counter()
    going = _without_loops(ids, options.most_redrives, left)
    payloads = None
    if options.patch_kind or job.target_queue:
        going = _without_tasks(going, left)
    if going and (patch := patching.read(options.patch_kind, options.patch)):
        going, payloads = patched(going, Query(_PAYLOADS, [job.target_queue, going]).rows(), patch, left)
    if not going:
        return Moved(0, left)
    with spans.moved(job.target_queue or ", ".join(job.source_queues), _traceparents(going)):
        moved = verbs.redrive(going, job.target_queue, job.redrive_id, job.created_by, payloads)
    if moved < len(going):
        held = _kept_by_their_ids(going, job.target_queue)
        left["deduplication"] += held
        left["taken"] += len(going) - moved - held
    return Moved(moved, +left)


def _traceparents(ids: Sequence[int]) -> list[str]:
    """The spans that sent some of these first; nobody asks where there are no spans."""
    if not spans.installed():
        return []
    return [row[0] for row in Query(_TRACEPARENTS, [list(ids)]).rows()]


_TRACEPARENTS = """
select d.attributes ->> 'traceparent'
from signalbox.dead_letter d
where d.dead_letter_id = any(%s::bigint[]) and d.attributes ->> 'traceparent' is not null
limit 128
"""


def _without_loops(ids: Sequence[int], most_redrives: int | None, left: Counter[str]) -> list[int]:
    """The loop guard: what came back that often comes back again."""
    if most_redrives is None:
        return list(ids)
    looping = {
        row[0]
        for row in Query(
            "select d.dead_letter_id from signalbox.dead_letter d"
            " where d.dead_letter_id = any(%s::bigint[]) and d.redrive_count > %s",
            [list(ids), most_redrives],
        ).rows()
    }
    left["redriven"] += len(looping)
    return [one for one in ids if one not in looping]


def _without_tasks(ids: Sequence[int], left: Counter[str]) -> list[int]:
    """Leave out tasks of Signalbox's own workers: these may only go back to their own queue, unchanged."""
    tasks = {row[0] for row in Query(_TASKS, [list(ids), SYSTEM_TENANT]).rows()}
    left["system"] += len(tasks)
    return [one for one in ids if one not in tasks]


_TASKS = """
select d.dead_letter_id
from signalbox.dead_letter d
join signalbox.queue q on q.queue_id = d.source_queue_id
join signalbox.tenant t on t.tenant_id = q.tenant_id
where d.dead_letter_id = any(%s::bigint[]) and t.name = %s
"""


def patched(
    ids: Sequence[int], rows: Sequence[tuple[int, str, bool, int]], patch: Patch, left: Counter[str]
) -> tuple[list[int], str | None]:
    """Those to which the patch applies, and the payloads that it changes, as a JSON object by id.

    `rows` are those that are still there: id, payload, whether its body is in a store, the most bytes that it may have.
    """
    going: list[int] = []
    changed: list[str] = []
    large = failed = 0
    for letter, text, is_large, most_bytes in rows:
        if is_large:
            large += 1
            continue
        try:
            after = patch.change(text, min(most_bytes, patching.INLINE_BYTES))
        except DoesNotApply:
            failed += 1
            continue
        going.append(letter)
        if after is not None:
            changed.append(f'"{letter}": {after}')
    left.update(large_body=large, patch=failed, taken=len(ids) - len(rows))  # gone since they were chosen
    return going, "{" + ", ".join(changed) + "}" if changed else None


_PAYLOADS = """
select d.dead_letter_id, d.payload::text, d.body_sha256 is not null, coalesce(q.max_payload_bytes, 262144)
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %s
left join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id)
where d.dead_letter_id = any(%s::bigint[])
order by d.dead_letter_id
"""


def _kept_by_their_ids(ids: Sequence[int], target_queue: str | None) -> int:
    """Of those that did not go, how many hold a deduplication id where another message may have it."""
    [(number,)] = Query(_KEPT, [target_queue, list(ids)]).rows()
    return int(number)


_KEPT = """
select count(*)
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id) and q.dedup_scope = 'in_flight'
where d.dead_letter_id = any(%s::bigint[]) and d.deduplication_id is not null
"""
