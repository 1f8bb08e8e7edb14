"""Arithmetic of capacity: `python -m bench.fleet.capacity --messages-a-day 500e6 --burst 100000`.

The cost of a message is read from the benchmark's pages, so the results use the last measurements. The rest is
multiplication. `docs/run/capacity.md` shows the same tables.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
DAY_SECONDS = 86_400
GB = 1e9
BENCHMARK_PAYLOAD_BYTES = 200
CELL_SIZES = (4, 8, 16, 32)  # cores


@dataclass(frozen=True)
class Needs:
    """Load to carry, and the assumptions about cells and prices."""

    messages_a_day: float = 500e6
    burst: float = 100_000  # messages a second
    burst_minutes: float = 10
    payload_bytes: float = 1_000
    retention_days: float = 3
    standbys: float = 2
    busy: float = 0.6  # share of a cell's cores that may work in a burst
    core_hour: float = 0.05  # price
    gb_month: float = 0.10  # price

    @property
    def average(self) -> float:
        """Messages a second, over the day."""
        return self.messages_a_day / DAY_SECONDS


@dataclass(frozen=True)
class Way:
    """Measured cost of a message that is sent, received and acknowledged, for one size of a call."""

    name: str
    send_cpu_us: float
    drain_cpu_us: float
    wal_bytes: float
    send_call_ms: float  # for which a connection is busy
    drain_call_ms: float
    calls: int  # messages in each call

    @property
    def cpu_us(self) -> float:
        return self.send_cpu_us + self.drain_cpu_us

    def wal(self, payload_bytes: float) -> float:
        """WAL bytes of a message: those of the benchmark, and the bytes by which its payload is larger."""
        return self.wal_bytes + max(0.0, payload_bytes - BENCHMARK_PAYLOAD_BYTES)

    def cores(self, sends: float, receives: float) -> float:
        """Cores of PostgreSQL for these rates, in messages a second."""
        return (sends * self.send_cpu_us + receives * self.drain_cpu_us) / 1e6

    def connections(self, rate: float) -> float:
        """Connections that are busy at a rate: calls a second times the duration of a call."""
        return rate / self.calls * (self.send_call_ms + self.drain_call_ms) / 1e3


def measured() -> list[Way]:
    """Read the measured costs from the benchmark's page."""
    rows = _rows(REFERENCE / "benchmark.md")
    return [_way(rows, "one at a time", 1), _way(rows, "a hundred in a call", 100)]


def stored_bytes() -> float:
    """Bytes of disk for a message that ended, with the benchmark's payload (docs/reference/benchmark-scale.md)."""
    text = (REFERENCE / "benchmark-scale.md").read_text()
    found = re.search(r"([\d,]+)\s+bytes\s+of\s+disk\s+for\s+each\s+message", text)
    if not found:
        raise LookupError("docs/reference/benchmark-scale.md does not say what a message takes on disk")
    return _number(found[1])


def _way(rows: dict[str, list[float]], name: str, each: int) -> Way:
    send_rate, send_cpu, send_wal, senders = rows[f"send {each}"]
    drain_rate, drain_cpu, drain_wal, drainers = rows[f"drain {each}"]
    return Way(
        name,
        send_cpu,
        drain_cpu,
        send_wal + drain_wal,
        send_call_ms=senders * each / send_rate * 1e3,
        drain_call_ms=drainers * each / drain_rate * 1e3,
        calls=each,
    )


def _rows(page: Path) -> dict[str, list[float]]:
    """Messages a second, CPU, WAL and clients of Signalbox, by work; the first table has them."""
    rows: dict[str, list[float]] = {}
    work, clients = "", 0.0
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if head := re.fullmatch(r"((?:send|drain) \d+), (\d+) clients", cells[0]):
            work, clients = head[1], float(head[2])
        if len(cells) == 8 and cells[1] == "signalbox":
            rows.setdefault(work, [_number(cells[2]), _number(cells[4]), _number(cells[6]), clients])
    return rows


def _number(text: str) -> float:
    return float(text.replace(",", ""))


Table = tuple[Sequence[str], list[Sequence[str]]]


def processors(needs: Needs, ways: Sequence[Way]) -> Table:
    """Cores on average, in a burst that is received at once, and in a burst whose messages wait."""
    head = ("calls", "CPU of a message, us", "cores, average", "cores, burst", "cores, burst that waits")
    return head, [
        (
            way.name,
            f"{way.cpu_us:,.0f}",
            f"{way.cores(needs.average, needs.average):,.1f}",
            f"{way.cores(needs.burst, needs.burst):,.1f}",
            f"{way.cores(needs.burst, needs.average):,.1f}",
        )
        for way in ways
    ]


def cells(needs: Needs, ways: Sequence[Way]) -> Table:
    """Cells of each size for the burst."""
    head = ("calls", *(f"cells of {size} cores" for size in CELL_SIZES))
    return head, [(way.name, *(str(cells_for(needs, way, size)) for size in CELL_SIZES)) for way in ways]


def cells_for(needs: Needs, way: Way, cores: int) -> int:
    """Cells that carry the burst and are no busier than allowed."""
    return ceil(way.cores(needs.burst, needs.burst) / (cores * needs.busy))


def storage(needs: Needs, ways: Sequence[Way]) -> Table:
    """Write-ahead log, the log that standbys receive, and connections."""
    head = ("calls", "WAL a day, GB", "WAL in a burst, MB/s", "to standbys, MB/s", "busy connections, burst")
    return head, [
        (
            way.name,
            f"{way.wal(needs.payload_bytes) * needs.messages_a_day / GB:,.0f}",
            f"{way.wal(needs.payload_bytes) * needs.burst / 1e6:,.0f}",
            f"{way.wal(needs.payload_bytes) * needs.burst * needs.standbys / 1e6:,.0f}",
            f"{way.connections(needs.burst):,.0f}",
        )
        for way in ways
    ]


def disk_gb(needs: Needs) -> float:
    """Disk of the retained messages of all cells, without standbys."""
    each = stored_bytes() + max(0.0, needs.payload_bytes - BENCHMARK_PAYLOAD_BYTES)
    return each * needs.messages_a_day * needs.retention_days / GB


def burst_backlog(needs: Needs) -> float:
    """Messages that wait after a burst that is received at the average rate."""
    return (needs.burst - needs.average) * needs.burst_minutes * 60


def money(needs: Needs, ways: Sequence[Way], cores: int = 16) -> Table:
    """Price of a month of 730 hours: cores and disk of primaries and standbys."""
    servers = 1 + needs.standbys
    head = ("calls", "servers", "cores", "disk, GB", "a month", "a million messages")
    rows: list[Sequence[str]] = []
    for way in ways:
        machines = cells_for(needs, way, cores) * servers
        price = machines * cores * 730 * needs.core_hour + disk_gb(needs) * servers * needs.gb_month
        of_million = price / (needs.messages_a_day * 730 / 24 / 1e6)
        rows.append(
            (
                way.name,
                f"{machines:,.0f}",
                f"{machines * cores:,.0f}",
                f"{disk_gb(needs) * servers:,.0f}",
                f"{price:,.0f}",
                f"{of_million:.3f}",
            )
        )
    return head, rows


def tables(needs: Needs) -> Iterator[tuple[str, Table]]:
    """Tables with their titles."""
    ways = measured()
    yield "Processors", processors(needs, ways)
    yield "Cells", cells(needs, ways)
    yield "Storage and connections", storage(needs, ways)
    yield "Money", money(needs, ways)


def main() -> None:
    needs = parse_arguments()
    for title, (head, rows) in tables(needs):
        print(f"\n{title}\n  {' | '.join(head)}")
        for row in rows:
            print(f"  {' | '.join(row)}")
    print(f"\n{disk_gb(needs):,.0f} GB for {needs.retention_days:g} days of messages")


def parse_arguments() -> Needs:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.capacity", description=__doc__)
    for need in fields(Needs):
        parser.add_argument(f"--{need.name.replace('_', '-')}", type=float, default=need.default)
    return Needs(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
