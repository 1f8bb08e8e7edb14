"""Handler of the measured worker: it does nothing, so that the cost is the worker's own."""

from signalbox import Message


def nothing(message: Message) -> None:
    """Finish the message at once."""
