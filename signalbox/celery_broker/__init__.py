"""Celery over the engine: a transport of kombu's, so that `broker_url = "signalbox://user@host/db"` is a broker.

Importing this enters the scheme. Where the package is installed kombu finds it by itself: see
`signalbox.celery_scheme`.
"""

import signalbox.celery_scheme  # noqa: F401 - it enters the scheme
from signalbox.celery_broker.channel import Channel
from signalbox.celery_broker.transport import Transport

__all__ = ["Channel", "Transport"]
