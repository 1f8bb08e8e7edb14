"""The filter of a job that somebody is about to make: held, in its text, to the queues that they may do it to."""

from __future__ import annotations

from django.http import HttpRequest

from console import roles
from console.filterbar import readable_filter
from dlq.filters import FilterError
from dlq.reaching import held_to
from queues.errors import InvalidArgument


def held_filter(request: HttpRequest, text: str, permission: str) -> str:
    """What is kept with the job, whoever runs it later; an empty filter stays one for who may touch everything.

    Raises `FilterError`, also where nothing is left of it.
    """
    reach = roles.reach(request.user, permission)
    chosen = readable_filter(text, request)
    if reach.is_everything:
        return text
    try:
        return str(held_to(reach, chosen))
    except InvalidArgument as error:
        raise FilterError(0, len(text), text, f"{error}."[:1].upper() + f"{error}."[1:], "queue: of yours") from None
