"""The Celery tasks of this room: what is kept is kept for so long and no longer."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_ready

from metrics.alerts import retention

FORGET_SECONDS = 600.0


@shared_task(name="metrics.forget_alerts")  # type: ignore[untyped-decorator]
def forget_alerts() -> int:
    """Delete alerts of long ago; returns how many went. More than one at a time does no harm."""
    return retention.forget()


@worker_ready.connect  # type: ignore[untyped-decorator]
def forget_regularly(sender: Any, **_: Any) -> None:
    """In each worker's main process, which only sends the task and never touches the database."""
    _send()
    sender.timer.call_repeatedly(FORGET_SECONDS, _send)


def _send() -> None:
    forget_alerts.apply_async(expires=FORGET_SECONDS, retry=False)
