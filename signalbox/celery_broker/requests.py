"""Telling the broker why a task failed, so that its dead letter has the exception and the stack, and not just a name.

Celery rejects a message without a word. An application that wants the words says so in its configuration:
`task_annotations = {"*": {"Request": "signalbox.celery_broker.requests:Request"}}`.
"""

from __future__ import annotations

from typing import Any

from billiard.einfo import ExceptionWithTraceback
from celery.worker import request


class Request(request.Request):  # type: ignore[misc]
    """Celery's own, which notes on its message what the task died of."""

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        """What a worker does with a task that failed."""
        exception = exc_info.exception
        if isinstance(exception, ExceptionWithTraceback):
            exception = exception.exc
        self._message.failure = {
            "error_class": getattr(exception, "exc_cls_name", None) or type(exception).__name__,
            "error": str(exception),
            "details": str(exc_info.traceback or ""),
        }
        return super().on_failure(exc_info, send_failed_event=send_failed_event, return_ok=return_ok)
