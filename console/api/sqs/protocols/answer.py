"""An answer of the SQS endpoint, in either protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """The status, content and headers of an answer."""

    status: int
    content: bytes
    headers: Mapping[str, str]
