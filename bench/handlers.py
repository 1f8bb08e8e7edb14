"""What the measured worker runs: nothing, so that what remains is the worker's own."""

from signalbox import Message


def nothing(message: Message) -> None:
    """Be done at once."""
