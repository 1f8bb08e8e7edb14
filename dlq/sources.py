"""Where a redrive takes its messages from: dead letters, or what was staged from the archive.

The machinery around it is the same for both: the lock of the job's row, cursor and counts in the transaction of the
messages, pace, canary, outcomes. A source knows how to walk on, and how to send what it has found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dlq import moving, selecting, staged_moving
from dlq.models import Redrive
from dlq.moving import Moved
from dlq.plan_options import Options
from dlq.selecting import Chosen


@dataclass(frozen=True)
class Source:
    """One of them."""

    walk: Callable[[Redrive, int], Chosen]
    """The next ids behind the job's cursor, and no more than so many."""
    move: Callable[[Redrive, Sequence[int], Options], Moved]
    """Send these; each leaves the source in the same transaction."""
    most: int
    """That one batch sends."""


LETTERS = Source(selecting.next_ids, moving.move, most=2_000)
STAGED = Source(staged_moving.next_ids, staged_moving.move, most=staged_moving.BATCH_MESSAGES)


def of(job: Redrive) -> Source:
    """What the job takes from."""
    return LETTERS if job.staging_id is None else STAGED


def take(source: Source, job: Redrive, limit: int, options: Options) -> Moved:
    """Send the next, those first that are to go first; the job's cursor is then behind all that were."""
    first = job.canaries[:limit]
    chosen = Chosen(first, job.cursor) if first else source.walk(job, limit)
    done = source.move(job, chosen.ids, options) if chosen.ids else Moved(0, Counter())
    if first:
        job.canaries = [*done.unsent, *job.canaries[limit:]]
    else:
        job.cursor = done.unsent[0] - 1 if done.unsent else chosen.cursor
    return done
