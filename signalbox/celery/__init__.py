"""Celery over the engine: a transport of kombu's, so that `broker_url = "signalbox://user@host/db"` is a broker.

Importing this package registers the scheme. Where Signalbox is installed, kombu finds it by itself: see
`signalbox.celery_scheme`.
"""

import signalbox.celery_scheme  # noqa: F401 - it registers the scheme
from signalbox.celery.channel import Channel
from signalbox.celery.transport import Transport

__all__ = ["Channel", "Transport"]
