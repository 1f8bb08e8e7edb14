"""Simulation of placement and rebalancing: `python -m bench.fleet.balance --queues 10000 --cells 50 --days 7`.

Queues have Zipf loads that drift, swing with the time of day in their own zone, and now and then burst. Keys are
uneven, so the loads of partitions are too. Each hour, the loads are measured as a cell can measure them: by queue,
not by partition. Then the product proposes moves, and these are made within a budget for each hour.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from queues.fleet.balance import CellCapacity, Limits, Share, ShareLoad, peak_over_mean, propose

PARTITIONS = 64
HOURS = 24
MEMORY = 0.5  # share of the old value in a measured load: a single hour is noisy
DRIFT = 0.05  # standard deviation of the daily change of a queue's logarithmic load
SWING = 0.3  # between night and noon, around the mean
SWINGS = [1 + SWING * math.cos(hour * 2 * math.pi / HOURS) for hour in range(HOURS)]  # from noon on


@dataclass(frozen=True)
class Scene:
    """Size of a simulated fleet."""

    queues: int = 10_000
    cells: int = 50
    days: int = 7
    moves_per_hour: int = 20
    messages_per_second: float = 6_000
    zipf: float = 1.0
    bursts: int = 0  # queues whose load changes tenfold on a day, up or down
    seed: int = 1


@dataclass(frozen=True)
class Hour:
    """Balance of one hour by the true loads, before the moves at the end of the hour."""

    peak: float
    moves: int


@dataclass
class SimulatedQueue:
    """Queue with its true load, the load that was measured, and the cell of each partition."""

    name: str
    rate: float
    noon: int
    weights: list[float]
    cells: dict[str, list[int]]
    known: dict[str, float] = field(default_factory=dict)
    parts: dict[str, float] = field(default_factory=dict)  # true part of the queue's load, by cell

    def rate_in(self, cell: str, hour: int) -> float:
        """True rate of the partitions that a cell holds."""
        if cell not in self.parts:
            self.parts[cell] = sum(self.weights[number] for number in self.cells[cell])
        return self.rate * SWINGS[(hour - self.noon) % HOURS] * self.parts[cell]

    def measure(self, hour: int) -> None:
        """Update the measured rates: a moving average of the true rates; a new cell starts with its first true rate."""
        rates = {cell: self.rate_in(cell, hour) for cell in self.cells}
        self.known = {
            cell: MEMORY * self.known[cell] + (1 - MEMORY) * rate if cell in self.known else rate
            for cell, rate in rates.items()
        }

    def move(self, numbers: tuple[int, ...], source: str, target: str) -> None:
        part = len(numbers) / len(self.cells[source])
        self.cells[source] = [number for number in self.cells[source] if number not in numbers]
        self.cells.setdefault(target, []).extend(numbers)
        moved = self.known[source] * part
        self.known[target] = self.known.get(target, 0) + moved
        self.known[source] -= moved
        self.parts.clear()
        if not self.cells[source]:
            del self.cells[source], self.known[source]


class Simulation:
    """Fleet whose hours pass one after the other."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.random = random.Random(scene.seed)
        self.cells = [CellCapacity(f"cell-{number}") for number in range(scene.cells)]
        self.queues = {queue.name: queue for queue in self.zipf_queues()}

    def zipf_queues(self) -> Iterator[SimulatedQueue]:
        """Make queues with Zipf loads, and assign them to the cells in turn, whatever their loads are."""
        scene = self.scene
        ranks = [1 / rank**scene.zipf for rank in range(1, scene.queues + 1)]
        scale = scene.messages_per_second / sum(ranks)
        self.random.shuffle(ranks)
        for number, share in enumerate(ranks):
            home = self.cells[number % scene.cells].name
            yield SimulatedQueue(
                f"queue-{number}", share * scale, self.noon(), self.weights(), {home: list(range(PARTITIONS))}
            )

    def noon(self) -> int:
        """Choose a queue's hour of the highest load; most tenants are in three time zones."""
        return round(self.random.gauss(self.random.choice((2, 10, 18)), 2)) % HOURS

    def weights(self) -> list[float]:
        """Make the shares of the partitions, which are uneven because keys are uneven."""
        raw = [self.random.gammavariate(8, 1) for _ in range(PARTITIONS)]
        total = sum(raw)
        return [weight / total for weight in raw]

    def run(self) -> Iterator[Hour]:
        for hour in range(self.scene.days * HOURS):
            if hour % HOURS == 0 and hour:
                self.drift()
            for queue in self.queues.values():
                queue.measure(hour)
            peak = peak_over_mean(self.cells, self.true_shares(hour))
            yield Hour(peak, self.rebalance())

    def drift(self) -> None:
        for queue in self.queues.values():
            queue.rate *= math.exp(self.random.gauss(0, DRIFT))
        for name in self.random.sample(sorted(self.queues), self.scene.bursts):
            self.queues[name].rate *= self.random.choice((0.1, 10))

    def rebalance(self) -> int:
        moves = propose(self.cells, self.known_shares(), Limits(moves=self.scene.moves_per_hour))
        for move in moves:
            self.queues[move.queue].move(move.partitions, move.source, move.target)
        return len(moves)

    def known_shares(self) -> Iterator[Share]:
        for queue in self.queues.values():
            for cell, numbers in queue.cells.items():
                yield _share(queue, cell, numbers, queue.known[cell])

    def true_shares(self, hour: int) -> Iterator[Share]:
        for queue in self.queues.values():
            for cell, numbers in queue.cells.items():
                yield _share(queue, cell, numbers, queue.rate_in(cell, hour))

    def pieces(self) -> int:
        """Count the (queue, cell) pairs: as many as queues when no queue is split."""
        return sum(len(queue.cells) for queue in self.queues.values())


def _share(queue: SimulatedQueue, cell: str, numbers: list[int], rate: float) -> Share:
    return Share(queue.name, cell, tuple(numbers), ShareLoad(sends_per_second=rate, receives_per_second=rate))


def main() -> None:
    scene = parse_arguments()
    simulation = Simulation(scene)
    hours = list(simulation.run())
    for day in range(scene.days):
        of_day = hours[day * HOURS : (day + 1) * HOURS]
        peaks = [hour.peak for hour in of_day]
        moves = sum(hour.moves for hour in of_day)
        level = sum(peak <= 1.2 for peak in peaks)
        print(f"day {day + 1}: peak over mean at most {max(peaks):.2f}, {level} hours at most 1.20, {moves} moves")
    print(f"{scene.queues} queues lie in {simulation.pieces()} shares")


def parse_arguments() -> Scene:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.balance", description=__doc__)
    for name in ("queues", "cells", "days", "moves-per-hour", "bursts", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Scene, name.replace("-", "_")))
    parser.add_argument("--zipf", type=float, default=Scene.zipf, help="exponent of the loads (1.0)")
    return Scene(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
