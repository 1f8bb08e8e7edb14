"""Reasons of failed tasks for the broker, so that a dead letter has the exception and the stack.

Celery rejects a message without a reason. An application that wants the reason sets in its configuration:
`task_annotations = {"*": {"Request": "signalbox.celery.requests:Request"}}`.
"""

from __future__ import annotations

from typing import Any

from billiard.einfo import ExceptionWithTraceback
from celery.exceptions import Reject
from celery.worker import request


class Request(request.Request):  # type: ignore[misc]
    """The request of Celery, extended to note the error of a failed task on the message."""

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        """Note the exception and the stack on the message, then do what Celery does."""
        exception = exc_info.exception
        if isinstance(exception, ExceptionWithTraceback):
            exception = exception.exc
        self._message.is_put_off = isinstance(exception, Reject) and exception.requeue
        self._message.failure = {
            "error_class": getattr(exception, "exc_cls_name", None) or type(exception).__name__,
            "error": str(exception),
            "details": str(exc_info.traceback or ""),
        }
        return super().on_failure(exc_info, send_failed_event=send_failed_event, return_ok=return_ok)
