"""Access of API keys to dead letters and jobs. Called through `database.in_thread`.

A dead-letter queue may keep dead letters of several queues. A key that reaches some of these queues receives, redrives
and sees only their dead letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TypeVar

from console.access.api_keys import Key
from console.api.core.problems import Problem
from dlq.filters import FilterError, parse
from dlq.jobs.models import Purge, Redrive
from dlq.masking.rules import Masking
from dlq.search.checked_filter import CheckedFilter, check_filter
from queues.database.names import sources_of
from queues.models import Queue

AnyJob = TypeVar("AnyJob", Purge, Redrive)


def dead_letters_in(key: Key, holder: Queue, text: str) -> CheckedFilter:
    """Check a filter on the dead letters of one queue, within the source queues that the key reaches.

    Raises `FilterError`, also for a filter on masked fields, and the problem `not-reached`.
    """
    read = parse(text)
    Masking().check(read, holder.name)
    read = read.with_term("queue", holder.name)
    if not key.prefix:
        return check_filter(read)
    reached = [name for name in sources_of(holder) if key.reaches(name, holder.tenant.name)]
    if not reached:
        raise Problem("not-reached", f"No queue that this key reaches has its dead letters in {holder.name!r}.")
    return check_filter(read.with_term("queue", *reached))


def holds_others(key: Key, holder: Queue) -> bool:
    """Return whether the queue keeps dead letters of queues that the key does not reach."""
    return any(not key.reaches(name, holder.tenant.name) for name in sources_of(holder))


def queues_of(job: Redrive) -> set[str]:
    """Return the queues of a redrive: those in its filter, the source queues, and the destination."""
    return filtered_queues(job) | set(job.source_queues) | ({job.target_queue} if job.target_queue else set())


def filtered_queues(job: Redrive) -> set[str]:
    """Return the queues that the filter of a redrive names."""
    try:
        terms = parse(job.filter_text).terms
    except FilterError:  # a filter from an earlier version
        terms = ()
    return {name for term in terms if term.key == "queue" and not term.negated for name in term.literals}


def changed(
    find: Callable[[], AnyJob], act: Callable[[], bool], name: str, past: str, already: Collection[str] = ()
) -> AnyJob:
    """Call `act` and return the job. Raises `wrong-state` if `act` did nothing and the state is not in `already`."""
    find()
    done = act()
    job = find()
    if not done and job.state not in already:
        detail = f"{name}{job.pk} is {job.get_state_display()}: it cannot be {past}."
        raise Problem("wrong-state", detail, state=job.state)
    return job


def number_of(name: str, prefix: str) -> int:
    """Return the number in the name of a job. Raises the problem `job-not-found` for a name of another form."""
    if not re.fullmatch(rf"{prefix}[0-9]{{1,18}}", name):
        raise Problem("job-not-found", f"There is no job {name[:80]!r}: names have the form {prefix}12.")
    return int(name.removeprefix(prefix))
