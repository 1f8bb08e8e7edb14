"""Renaming a queue: what it would change, said before it is done, and `manage.py queues rename`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from console.api_keys.models import ApiKey
from console.grants.models import Grant
from console.wording import plural
from dlq import renaming
from metrics.alerts import silences
from queues.control import get_queue
from queues.counters import read_numbers
from queues.errors import InvalidArgument
from queues.models import Queue
from queues.renaming import GRACE_SECONDS, free_name

ACTOR = "manage.py"
DAY_SECONDS = 86_400
MOST_LISTED = 20


@dataclass(frozen=True)
class Consequences:
    """What a rename would mean, in sentences. With something in the way it is refused."""

    in_the_way: list[str]
    follows: list[str]
    stays: list[str]
    """What goes on saying the old name, and somebody has to change."""


def consequences(queue: Queue, new_name: str, *, person: str | None = None, administers: bool = True) -> Consequences:
    """Of giving the queue this name; a fixed number of queries over control tables, none over messages.

    Whose rights change is named for who administers; for others, how many do.
    """
    jobs = renaming.jobs_naming(queue.name)
    rights = _rights(queue, new_name)
    told = rights if administers or not rights else [f"rights by prefix: {plural(len(rights), 'change')}"]
    return Consequences(
        [f"{job} names it: wait for its end, or cancel it" for job in jobs],
        _follows(queue),
        [*_programs(queue), *told[:MOST_LISTED], *_texts(queue.name, person)],
    )


def _follows(queue: Queue) -> list[str]:
    said = ["messages, leases, dead letters, history, charts, bindings and subscriptions, which go by its number"]
    if queue.is_dead_letter_queue:
        sources = Queue.objects.filter(dead_letter_queue_id=queue.pk).exclude(pk=queue.pk).order_by("name")
        names = list(sources.values_list("name", flat=True)[:MOST_LISTED])
        said += [f"dead_letter_queue of {name}" for name in names]
    elif queue.dead_letter_queue is None and (holder := Queue.objects.filter(pk=queue.dead_letter_queue_id).first()):
        said.append(f"its dead letters stay in {holder.name}, which its settings name from then on")
    if masks := renaming.masks_of(queue.name):
        said.append(f"{plural(masks, 'mask')} of payload fields, for the new name and for the old")
    return said


def _programs(queue: Queue) -> list[str]:
    (numbers,) = read_numbers([queue.pk])
    said = []
    if numbers.consumers:
        said.append(f"{plural(numbers.consumers, 'consumer')} of the last minute, by the old name as long as it works")
    if numbers.in_per_second:
        said.append(f"senders of {numbers.in_per_second:.1f} messages a second, by the old name as long as it works")
    return [*said, "metrics: the old name's series end and the new one's begin; rules and dashboards may name it"]


def _rights(queue: Queue, new_name: str) -> list[str]:
    bounded = Q(tenant_name=None) | Q(tenant_name=queue.tenant.name)
    grants = Grant.objects.filter(bounded).exclude(queue_prefix="").select_related("person")
    keys = ApiKey.objects.filter(bounded, revoked_at=None).exclude(queue_prefix="")
    held = [(f"{one.person} as {one.role}", one.queue_prefix) for one in grants]
    held += [(f"API key {one.name}", one.queue_prefix) for one in keys]
    said = []
    for who, prefix in held:
        before, after = queue.name.startswith(prefix), new_name.startswith(prefix)
        if before != after:
            said.append(f"{who} ({prefix}*) {'no longer reaches' if before else 'now reaches'} it")
    return said


def _texts(name: str, person: str | None) -> list[str]:
    silenced = [f"silence {one.pk} ({one})" for one in silences.active() if one.queue_pattern == name]
    return [f"{what} says {name}" for what in [*renaming.filters_naming(name, person), *silenced]]


def add_arguments(verbs: Any) -> None:
    """The verb for the parser of `manage.py queues`."""
    rename = verbs.add_parser("rename", help="give a queue another name; the old one works on for a while")
    rename.add_argument("name")
    rename.add_argument("new_name", nargs="?")
    days = GRACE_SECONDS / DAY_SECONDS
    rename.add_argument("--grace-days", type=float, default=days, help=f"how long the old name works ({days:g})")
    rename.add_argument("--check", action="store_true", help="say what would change, and change nothing")
    rename.add_argument("--free", action="store_true", help="NAME is an old name: let another queue have it")
    rename.add_argument("--reason", default="", help="kept in the audit")


def rename(out: Any, options: dict[str, Any]) -> None:
    """Say what changes, and do it. Raises `QueueNotFound`, `QueueInUse`, and `InvalidArgument` with the field."""
    name, new_name = options["name"], options["new_name"]
    if options["free"]:
        freed = free_name(name, actor=ACTOR, reason=options["reason"])
        out.write(f"{name} is free." if freed else f"{name} is no old name of a queue.")
        return
    if not new_name:
        raise InvalidArgument("new_name is missing", "new_name")
    _say(out, consequences(get_queue(name), new_name))
    if not options["check"]:
        seconds = options["grace_days"] * DAY_SECONDS
        renaming.rename_queue(name, new_name, seconds, actor=ACTOR, reason=options["reason"])
        out.write(f"{name} is called {new_name}.")


def _say(out: Any, found: Consequences) -> None:
    for heading, lines in (("In the way", found.in_the_way), ("Follows", found.follows), ("Stays", found.stays)):
        if lines:
            out.write(f"{heading}:")
            for line in lines:
                out.write(f"  {line}")
