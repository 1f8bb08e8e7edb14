"""Medians over the rounds, and ratios to the textbook queue in the same run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median

from bench.rounds import Measurement
from bench.scenarios import TEXTBOOK

COLUMNS = (
    ("messages/s", "messages_per_second", "{:,.0f}"),
    ("CPU us/message", "cpu_microseconds", "{:,.1f}"),
    ("WAL bytes/message", "wal_bytes", "{:,.0f}"),
)


def summarize(measured: Sequence[Measurement]) -> list[dict[str, object]]:
    """One row for each scenario and side: the median of each figure, its spread, and its ratio to the textbook's."""
    rows = []
    for scenario, side in dict.fromkeys((m.scenario, m.side) for m in measured):
        row: dict[str, object] = {"scenario": scenario.name, "side": side.name}
        for title, attribute, _ in COLUMNS:
            own = [getattr(m, attribute) for m in measured if (m.scenario, m.side) == (scenario, side)]
            reference = [getattr(m, attribute) for m in measured if (m.scenario, m.side) == (scenario, TEXTBOOK)]
            row[title] = median(own)
            row[f"{title} spread"] = [min(own), max(own)]
            row[f"{title} ratio"] = median(own) / median(reference)
        rows.append(row)
    return rows


def as_table(rows: Sequence[dict[str, object]]) -> str:
    """For people."""
    head = ["work", "queue", *(title for title, _, _ in COLUMNS)]
    body = [
        [
            str(row["scenario"]),
            str(row["side"]),
            *(f"{form.format(row[title])}  {row[f'{title} ratio']:.2f}x" for title, _, form in COLUMNS),
        ]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in [head, *body]
    )


def as_json(rows: Sequence[dict[str, object]], facts: dict[str, object]) -> str:
    """For programs: the rows, and on what they were measured."""
    return json.dumps({"facts": facts, "rows": rows}, indent=2)
