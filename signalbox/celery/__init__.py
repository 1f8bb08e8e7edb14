"""Celery over the engine: `signalbox://user@host/db` is a broker, and a result backend.

Importing this package registers both. Where Signalbox is installed, kombu and Celery find them by themselves: see
`signalbox.celery_scheme` and the entry points of `celery.result_backends`.
"""

from contextlib import suppress

import signalbox.celery_scheme  # noqa: F401 - it registers the scheme with kombu
from signalbox.celery.channel import Channel
from signalbox.celery.transport import Transport

with suppress(ImportError):  # kombu without Celery has no results
    from celery.app.backends import BACKEND_ALIASES

    BACKEND_ALIASES["signalbox"] = "signalbox.celery.results:ResultBackend"

__all__ = ["Channel", "Transport"]
