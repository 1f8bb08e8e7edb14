"""Results of the worker benchmark, as lines for people and as rows for programs."""

from collections.abc import Iterator
from dataclasses import asdict

from bench.client.workers import WorkerResults, WorkerSample
from bench.tables import ratio, table_line

TITLE = "The worker, with a handler that does nothing; x is the ratio to the first"
HEADINGS = ("", "messages/s", "x", "worker CPU us", "x", "server CPU us", "x", "WAL bytes", "acks/call")
WIDTHS = (28, 11, 6, 14, 6, 14, 6, 10, 10)


def worker_lines(results: WorkerResults) -> Iterator[str]:
    """Table of medians for people."""
    yield TITLE
    yield table_line(HEADINGS, WIDTHS)
    medians = {habit: WorkerSample.median(samples) for habit, samples in results.items()}
    first = next(iter(medians.values()))
    for habit, sample in medians.items():
        yield table_line(
            (
                habit.name,
                f"{sample.messages_per_second:,.0f}",
                ratio(sample.messages_per_second, first.messages_per_second),
                f"{sample.worker_cpu_us:,.0f}",
                ratio(sample.worker_cpu_us, first.worker_cpu_us),
                f"{sample.server_cpu_us:,.0f}",
                ratio(sample.server_cpu_us, first.server_cpu_us),
                f"{sample.wal_bytes:,.0f}",
                f"{sample.messages_per_ack:.1f}",
            ),
            WIDTHS,
        )


def worker_measurements(results: WorkerResults) -> Iterator[dict[str, object]]:
    """One object for each habit: its medians, and every round."""
    for habit, samples in results.items():
        yield {
            "worker": habit.name,
            "options": habit.options,
            **asdict(WorkerSample.median(samples)),
            "every_round": [asdict(sample) for sample in samples],
        }
