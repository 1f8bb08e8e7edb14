"""`python -m tests.signalbox.django_q.sending FIRST LAST`: a sender of the project, the same before and after."""

from __future__ import annotations

import sys
from contextlib import suppress

import django


def main(first: int, last: int) -> None:
    from django.db import transaction
    from django_q.models import Schedule
    from django_q.tasks import async_chain, async_task, schedule

    from tests.signalbox.django_q import tasks

    for number in range(first, last, 2):
        async_task(tasks.ship, f"order-{number}", express=True)
        async_task("tests.signalbox.django_q.tasks.ship", f"order-{number + 1}", express=True)
    async_chain([(tasks.ship, (f"chain-{first}-1",)), (tasks.ship, (f"chain-{first}-2",))])
    with suppress(InterruptedError), transaction.atomic():
        async_task(tasks.ship, f"withdrawn-{first}")
        raise InterruptedError
    schedule("tests.signalbox.django_q.tasks.ship", f"scheduled-{first}", schedule_type=Schedule.ONCE)


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]), int(sys.argv[2]))
