"""Check that a parser's time is proportional to its input, by the CPU time of its thread."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", str, bytes)

SIZES = (10_000, 80_000, 640_000)
"""Each eight times the one before."""
SIZES_OF_REQUESTS = (20_000, 160_000, 1_250_000, 10_000_000)
"""Up to what one request may have."""
#: Allowed growth of time for eight times the text. Quadratic growth would be 64.
MAX_GROWTH = 24
#: A shorter time is no harm, and says nothing about growth, in seconds.
SHORTEST_SECONDS = 0.3
#: These are faults of the parser, or of the test, and no refusals.
CRASHES = (MemoryError, AssertionError, AttributeError, NameError, TypeError)
#: Repetitions of a measurement: a busy processor with cold caches spoils some, never all.
MAX_MEASUREMENTS = 4
MAX_NOISE = 4


def assert_linear(
    parse: Callable[[T], object], texts: Mapping[str, Callable[[int], T]], sizes: Sequence[int] = SIZES
) -> None:
    """Fail where `parse` takes out of proportion longer for a longer text. It may refuse by any error but a crash.

    A parser of square growth is found out at the second size, before it would take hours.
    """
    for name, text_of in texts.items():
        before = 0.0
        for size in sizes:
            allowed = max(before * MAX_GROWTH, SHORTEST_SECONDS)
            before = measure(parse, text_of(size), allowed)
            assert before <= allowed, f"{name}: {size:,} characters took {before:.2f} s; linear: {allowed:.2f} s"


def measure(parse: Callable[[T], object], text: T, allowed: float = SHORTEST_SECONDS) -> float:
    """Seconds of the processor. Somewhat more than allowed is measured again, and the least counts."""
    shortest = _seconds(parse, text)
    for _ in range(MAX_MEASUREMENTS - 1):
        if not allowed < shortest < MAX_NOISE * allowed:
            break
        shortest = min(shortest, _seconds(parse, text))
    return shortest


def _seconds(parse: Callable[[T], object], text: T) -> float:
    gc.disable()  # it looks at what other tests have left
    began = time.thread_time()
    try:
        parse(text)
    except CRASHES:
        raise
    except Exception as error:
        assert len(str(error)) < 10_000, "the refusal repeats what it refuses"
    finally:
        took = time.thread_time() - began
        gc.enable()
    return took
