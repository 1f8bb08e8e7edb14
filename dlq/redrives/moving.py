"""One batch of dead letters: which are sent, which are skipped and why, and how a patch changes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dlq.jobs.models import Redrive
from dlq.redrives import patching
from dlq.redrives.patching import DoesNotApply, Patch
from dlq.redrives.plan_options import Options
from queues import bulk_verbs
from queues.dead_letters import redriving
from signalbox.tracing import spans

# With a patch, payloads travel to this process and back, so a batch has fewer messages.
BATCH_PATCHED = 100

# Reasons for skipped dead letters: the key in the row of the job, and its words.
REASONS = {
    "taken": "held by another process",
    "redriven": "redriven too often",
    "deduplication": "another message holds its deduplication id",
    "elsewhere": "another cell takes its part of the queue",
    "patch": "the patch does not apply",
    "large_body": "its body is in a store and cannot be patched",
    "too_large": "larger than the destination takes",
    "unreadable": "JSON that clients cannot read",
    "large_body_gone": "its large body has been deleted from the store",
    "system": "a task of Signalbox itself, which can only be redriven unchanged to its own queue",
    "quota": "a limit of the destination would never let it in",
}


@dataclass(frozen=True)
class Moved:
    """Result of a batch."""

    number: int
    left: Counter[str]
    unsent: Sequence[int] = ()
    """Messages for which the destination had no room: they are next."""
    waits_for: str = ""
    """The limit for which they wait, in words."""


def move(job: Redrive, ids: Sequence[int], options: Options) -> Moved:
    """Send these dead letters again, except those that must be skipped."""
    left: Counter[str] = Counter()
    going, payloads = list(ids), None
    if options.max_redrives is not None:  # a message that failed that often will probably fail again
        going = _without(redriving.redriven_more_often(going, options.max_redrives), going, "redriven", left)
    if options.patch_kind or job.target_queue:  # Signalbox's tasks keep queue and payload
        going = _without(redriving.own_tasks(going), going, "system", left)
    if going and (patch := patching.read(options.patch_kind, options.patch)):
        going, payloads = patched(going, redriving.payloads_to_patch(going, job.target_queue).rows(), patch, left)
    if not going:
        return Moved(0, left)
    traceparents = redriving.traceparents(going) if spans.installed() else []
    with spans.moved(job.target_queue or ", ".join(job.source_queues), traceparents):
        moved = bulk_verbs.redrive(going, job.target_queue, job.redrive_id, job.created_by, payloads)
    if moved < len(going):
        held, elsewhere = redriving.obstacles(going, job.target_queue)
        left["deduplication"] += held
        left["elsewhere"] += elsewhere
        left["taken"] += len(going) - moved - held - elsewhere
    return Moved(moved, +left)


def _without(gone: Collection[int], ids: Sequence[int], why: str, left: Counter[str]) -> list[int]:
    left[why] += len(gone)
    return [one for one in ids if one not in gone]


def patched(
    ids: Sequence[int], rows: Sequence[tuple[int, str, bool, int]], patch: Patch, left: Counter[str]
) -> tuple[list[int], str | None]:
    """Return the ids to which the patch applies, and the changed payloads as a JSON object by id.

    `rows` are the dead letters that still exist: id, payload, whether its body is in a store, and its maximal bytes.
    """
    going: list[int] = []
    changed: list[str] = []
    left["taken"] += len(ids) - len(rows)  # gone since they were chosen
    for dead_letter, text, is_large, most_bytes in rows:
        if is_large:
            left["large_body"] += 1
            continue
        try:
            after = patch.change(text, min(most_bytes, patching.INLINE_BYTES))
        except DoesNotApply:
            left["patch"] += 1
            continue
        going.append(dead_letter)
        if after is not None:
            changed.append(f'"{dead_letter}": {after}')
    return going, "{" + ", ".join(changed) + "}" if changed else None
