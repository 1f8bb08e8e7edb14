"""Names of messages and deliveries in SQS, made from the engine's and read back.

A message id of SQS is a UUID (version 8) that contains the engine's number. A receipt handle is the engine's, followed
by the number of the delivery.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.api.core.shape import HANDLE

_HIGH = 0x5369676E616C << 80
_LOW = 2**62 - 1
_HANDLE = re.compile(HANDLE.removesuffix("$") + r"\.([0-9]{1,5})$")
SEQUENCE_DIGITS = 20


def message_id_of(number: int) -> str:
    """Return the SQS message id of an engine's message."""
    digits = f"{_HIGH | 8 << 76 | 2 << 62 | number & _LOW:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def sequence_number_of(number: int) -> str:
    """Return the sequence number of a FIFO message, 20 digits."""
    return str(number).zfill(SEQUENCE_DIGITS)


def receipt_of(handle: str, receive_count: int) -> str:
    """Return the SQS receipt handle of a delivery."""
    return f"{handle}.{receive_count}"


@dataclass(frozen=True)
class Receipt:
    """A receipt handle of SQS, taken apart."""

    handle: str
    receive_count: int

    @property
    def text(self) -> str:
        """Return the handle as clients have it."""
        return receipt_of(self.handle, self.receive_count)

    @property
    def queue_id(self) -> int:
        """Return the queue of the delivery."""
        return int(self.handle.partition(".")[0])

    @property
    def message_id(self) -> int:
        """Return the engine's number of the message."""
        return int(self.handle.split(".")[1])


def read_receipt(text: str) -> Receipt | None:
    """Parse a receipt handle; None if the text is no receipt handle."""
    found = _HANDLE.fullmatch(text)
    return Receipt(text.rpartition(".")[0], int(found[1])) if found else None
