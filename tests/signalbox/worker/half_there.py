"""Application of two handlers, one of them for a queue that does not exist."""

from signalbox.worker import handles
from tests.signalbox.worker.handlers import record

handles("decorated-orders")(record)
handles("queue-that-is-not-there")(record)
