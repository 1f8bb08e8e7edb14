"""One batch of dead dead_letters: which go, which are left and why, and what is changed on the way."""

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

# Payloads travel to us and back: fewer of them at once.
BATCH_PATCHED = 100

# Why a selected dead_letter stays: the key in the job's row, in words.
REASONS = {
    "taken": "held by another process",
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
    """Result of a batch."""

    number: int
    left: Counter[str]
    unsent: Sequence[int] = ()
    """Those that had no room yet: they are next."""
    waits_for: str = ""
    """What keeps them waiting, in words."""


def move(job: Redrive, ids: Sequence[int], options: Options) -> Moved:
    """Send these again, but for those that are to stay."""
    left: Counter[str] = Counter()
    going, payloads = list(ids), None
    if options.max_redrives is not None:  # what came back that often comes back again
        going = _without(redriving.redriven_more_often(going, options.max_redrives), going, "redriven", left)
    if options.patch_kind or job.target_queue:  # tasks of Signalbox's workers only go back to their queue, unchanged
        going = _without(redriving.own_tasks(going), going, "system", left)
    if going and (patch := patching.read(options.patch_kind, options.patch)):
        going, payloads = patched(going, redriving.payloads_to_patch(going, job.target_queue).rows(), patch, left)
    if not going:
        return Moved(0, left)
    traceparents = redriving.traceparents(going) if spans.installed() else []
    with spans.moved(job.target_queue or ", ".join(job.source_queues), traceparents):
        moved = bulk_verbs.redrive(going, job.target_queue, job.redrive_id, job.created_by, payloads)
    if moved < len(going):
        held = redriving.number_with_ids(going, job.target_queue)
        left["deduplication"] += held
        left["taken"] += len(going) - moved - held
    return Moved(moved, +left)


def _without(gone: Collection[int], ids: Sequence[int], why: str, left: Counter[str]) -> list[int]:
    left[why] += len(gone)
    return [one for one in ids if one not in gone]


def patched(
    ids: Sequence[int], rows: Sequence[tuple[int, str, bool, int]], patch: Patch, left: Counter[str]
) -> tuple[list[int], str | None]:
    """Return those to which the patch applies, and the payloads that it changes, as a JSON object by id.

    `rows` are those that are still there: id, payload, whether its body is in a store, the most bytes that it may have.
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
