"""Results of a run, as text for people and as tables for the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from tests.chaos.judging.verdict import CHARGES
from tests.chaos.phases import Phase
from tests.chaos.run import Result

FIGURES = (
    "attempted",
    "acknowledged",
    "failed",
    "recovered",
    "unknown, and not there",
    "acked",
    "deliveries",
    "redelivered",
    "unseen deliveries",
    "stale receipts refused",
    "messages in groups",
    "tasks of Celery",
)


def report(result: Result) -> str:
    verdict = result.verdict
    lines = [f"Seed {result.plan.seed}, {result.seconds:.0f} s, of which {result.drain_seconds:.0f} s to drain.", ""]
    lines += table("Fault", "times", *zip(*sorted(result.faults.items()), strict=True)) if result.faults else []
    lines += table("Messages", "", FIGURES, [verdict.figures[name] for name in FIGURES])
    causes = sorted(verdict.duplicates)
    lines += table("Duplicates by cause", "", causes, [verdict.duplicates[cause] for cause in causes])
    lines += table("What must not happen", "", CHARGES, [verdict.charges[charge] for charge in CHARGES])
    lines += ["| Recovery | faults | p50 | p99 |", "|---|--:|--:|--:|"]
    for kind, one in sorted(result.recoveries.items()):
        lines.append(f"| {kind or 'all'} | {one.faults} | {one.p50_seconds:.2f} s | {one.p99_seconds:.2f} s |")
    lines += phase_table(result.phases) if result.phases else []
    return "\n".join(lines) + "\n"


def phase_table(phases: Iterable[Phase]) -> list[str]:
    lines = ["", "| Phase | before | during | after | first message | recovers fully |", "|---|--:|--:|--:|--:|---|"]
    for one in phases:
        first = "never" if one.recovery_seconds is None else f"{one.recovery_seconds:.2f} s"
        pace = " | ".join(f"{value:,.0f}/s" for value in (one.before, one.during, one.after))
        lines.append(f"| {one.name} | {pace} | {first} | {'yes' if one.recovered_fully else 'no'} |")
    return lines


def table(name: str, heading: str, keys: object, values: object) -> list[str]:
    rows = [f"| {key} | {value:,} |" for key, value in zip(keys, values, strict=True)]  # type: ignore[call-overload]
    return [f"| {name} | {heading} |", "|---|--:|", *rows, ""]


def as_json(result: Result) -> str:
    verdict = result.verdict
    return json.dumps(
        {
            "seed": result.plan.seed,
            "seconds": result.seconds,
            "faults": result.faults,
            "figures": verdict.figures,
            "duplicates": verdict.duplicates,
            "charges": verdict.charges,
            "recoveries": {kind: asdict(one) for kind, one in result.recoveries.items()},
        }
    )
