"""The metrics of the fleet's cells; without values where there is one cell."""

from __future__ import annotations

from metrics.names.metric import Metric, by, gauge
from metrics.reading.fleet import Fleet

CELL_METRICS: tuple[Metric[Fleet], ...] = (
    gauge(
        "fleet_cell_up",
        "1 while the cell answers. The directory's home watches all others, and every other cell watches the home.",
        lambda fleet: by({name: float(answers) for name, answers in fleet.cells.answers.items()}),
        "cell",
    ),
    gauge(
        "fleet_directory_behind_changes",
        "Changes of the directory that the copy of a cell lacks.",
        lambda fleet: by(fleet.cells.behind),
        "cell",
    ),
    gauge(
        "fleet_peak_over_mean",
        "The load of the busiest cell, as a multiple of the mean; exported by the directory's home.",
        lambda fleet: fleet.cells.peak_over_mean,
    ),
    gauge(
        "fleet_move_idle_seconds",
        "The longest time without progress of a move that is not paused; 0 without moves.",
        lambda fleet: fleet.cells.move_idle_seconds,
    ),
)
