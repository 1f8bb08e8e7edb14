"""An app of two handlers, one of them for a queue that nobody has made."""

from signalbox.worker import handles
from tests.signalbox.handlers import record

handles("decorated-orders")(record)
handles("queue-that-is-not-there")(record)
