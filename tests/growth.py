"""Whether a parser takes time in proportion to what it reads: measured by the processor's time of its thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T", str, bytes)

SIZES = (10_000, 80_000, 640_000)
"""Each eight times the one before."""
SIZES_OF_REQUESTS = (160_000, 1_250_000, 10_000_000)
"""Up to what one request may have."""
#: Eight times the text may take so many times the time. Square growth takes 64 times.
MOST_GROWTH = 24
#: What is shorter says nothing about growth, in seconds.
SHORTEST_SECONDS = 0.3


def assert_linear(parse: Callable[[T], object], hostile: Callable[[int], T], sizes: Sequence[int] = SIZES) -> None:
    """Fail where `parse` takes out of proportion longer for a longer text. It may refuse by any error but a crash.

    A parser of square growth is found out at the second size, before it would take hours.
    """
    before = _seconds(parse, hostile(sizes[0]))
    for size in sizes[1:]:
        took = _seconds(parse, hostile(size))
        allowed = max(before * MOST_GROWTH, SHORTEST_SECONDS)
        if took > allowed:  # a collection or a cold cache is no growth
            took = min(took, _seconds(parse, hostile(size)))
        assert took <= allowed, f"{size:,} characters took {took:.2f} s, an eighth of them {before:.2f} s"
        before = took


def _seconds(parse: Callable[[T], object], text: T) -> float:
    began = time.thread_time()
    try:
        parse(text)
    except (MemoryError, AssertionError):
        raise
    except Exception as error:
        assert len(str(error)) < 10_000, "the refusal repeats what it refuses"
    return time.thread_time() - began
