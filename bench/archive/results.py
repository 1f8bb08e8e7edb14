"""Results of the pipeline benchmark, as lines for people and measurements for programs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from bench.tables import ratio, table_line

TITLE = "The pipeline: settled messages with their bodies to Parquet, and rollups of them"
HEADINGS = ("", "", "rows", "seconds", "rows/s", "x", "after start", "x", "CPU s", "peak MB")
WIDTHS = (10, 26, 12, 9, 11, 6, 12, 6, 9, 9)
REFERENCE = {"archive": "ADBC + pyarrow", "rollup": "DuckDB"}
SIGNALBOX = "Signalbox"


@dataclass(frozen=True)
class Moved:
    """Cost of one command from its start to its end, with all its child processes."""

    work: str
    way: str
    rows: int
    seconds: float
    cpu_seconds: float
    """CPU time of the command with its processes, and of the server."""
    peak_mb: float


@dataclass(frozen=True)
class Live:
    """Throughput of the queue in messages/s: while the archive run is paused, and right afterwards while it works."""

    reads: bool
    """Whether the run had begun to read when it was resumed; before that, a Spark session starts."""
    alone: float
    beside: float


@dataclass(frozen=True)
class PipelineResults:
    moved: list[Moved]
    live: list[Live]


def pipeline_lines(results: PipelineResults) -> Iterator[str]:
    """Lines with medians; x is the ratio to the plain way. The second pair excludes the start of a Spark session."""
    yield TITLE
    yield table_line(HEADINGS, WIDTHS, names=2)
    start = _median(results, "start", None, 0)
    for work, rows in dict.fromkeys((one.work, one.rows) for one in results.moved if one.work != "start"):
        ways = dict.fromkeys(one.way for one in results.moved if (one.work, one.rows) == (work, rows))
        plain = _median(results, work, REFERENCE[work], rows)
        for way in ways:
            yield table_line(_cells(results, work, way, rows, start, plain), WIDTHS, names=2)
        if REFERENCE["rollup"] not in ways and work == "rollup":
            yield "           DuckDB is not installed here"
    cpu = statistics.median(one.cpu_seconds for one in _of(results, "start", 0))
    yield f"a Spark session starts and ends in {start:.1f} s, with {cpu:.1f} s of CPU"
    yield from _live_lines(results.live)


def _cells(results: PipelineResults, work: str, way: str, rows: int, start: float, plain: float) -> tuple[str, ...]:
    seconds = _median(results, work, way, rows)
    after = max(0.01, seconds - start * (way == SIGNALBOX))
    same = [one for one in _of(results, work, rows) if one.way == way]
    return (
        work,
        way,
        f"{rows:,}",
        f"{seconds:.1f}",
        f"{rows / seconds:,.0f}",
        ratio(plain, seconds),
        f"{rows / after:,.0f}",
        ratio(plain, after),
        f"{statistics.median(one.cpu_seconds for one in same):,.1f}",
        f"{statistics.median(one.peak_mb for one in same):,.0f}",
    )


def _median(results: PipelineResults, work: str, way: str | None, rows: int) -> float:
    found = [one.seconds for one in _of(results, work, rows) if way in (None, one.way)]
    return statistics.median(found) if found else 0.0


def _of(results: PipelineResults, work: str, rows: int) -> list[Moved]:
    return [one for one in results.moved if (one.work, one.rows) == (work, rows)]


def _live_lines(live: list[Live]) -> Iterator[str]:
    """Ratio over all pairs, which dampens single disturbances, and the ratio of the median pair."""
    for reads, what in ((False, "Spark starts"), (True, "it archives")):
        if pairs := [pair for pair in live if pair.reads is reads]:
            alone, beside = sum(pair.alone for pair in pairs), sum(pair.beside for pair in pairs)
            middle = statistics.median(pair.beside / pair.alone for pair in pairs)
            yield (
                f"the live queue while {what}: {ratio(beside, alone)} of {alone / len(pairs):,.0f} messages/s"
                f" ({len(pairs)} pairs, median {middle:.2f})"
            )


def pipeline_measurements(results: PipelineResults) -> dict[str, object]:
    """Results of every single round."""
    return {"moved": [asdict(one) for one in results.moved], "live": [asdict(one) for one in results.live]}
