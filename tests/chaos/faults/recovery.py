"""Recovery time: from the end of a fault to the end of the first probe that began after it."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.chaos.judging.history import OK, Operation


@dataclass(frozen=True)
class Recovery:
    faults: int
    p50_seconds: float
    p99_seconds: float


def recoveries(operations: Iterable[Operation]) -> dict[str, Recovery]:
    """Recovery times by kind of fault, and of all faults under ''. Faults without a later probe are left out."""
    probes, faults = [], []
    for operation in operations:
        if operation.kind == "probe" and operation.completed:
            probes.append((operation.arguments["began"], operation.completed))
        elif operation.kind == "fault" and operation.outcome == OK and operation.completed:
            faults.append((operation.arguments["fault"], operation.completed))
    probes.sort()
    times: dict[str, list[float]] = {}
    for kind, ended in faults:
        took = next_probe(probes, ended)
        if took is not None:
            times.setdefault(kind, []).append(took)
            times.setdefault("", []).append(took)
    return {kind: Recovery(len(took), quantile(took, 0.5), quantile(took, 0.99)) for kind, took in times.items()}


def next_probe(probes: Sequence[tuple[float, float]], after: float) -> float | None:
    """Seconds to the end of the first probe that began then or later; None without such a probe."""
    at = bisect.bisect_left(probes, (after, 0.0))
    return min((completed - after for _, completed in probes[at : at + 20]), default=None)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
