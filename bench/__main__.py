"""`make bench`: measure the engine beside a textbook queue in the same server and the same run, and print the report.

Everything is on: history, exact counters, fenced receipts, retries and dead letters, upkeep with its claim floors.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from dataclasses import replace

from bench import growth, report
from bench.rounds import prepare, run_rounds
from bench.scenarios import SCENARIOS, SIDES
from bench.server import ScratchServer


def main() -> None:
    options = _options()
    scenarios = [
        replace(scenario, messages=max(scenario.clients * scenario.batch, int(scenario.messages * options.scale)))
        for scenario in SCENARIOS
        if options.only in scenario.name
    ]
    with ScratchServer() as server, server.connect() as connection:
        prepare(connection, SIDES)
        with server.upkeep():
            if options.growth:
                print("\n".join(growth.measure_depths(connection, server.url, options.growth, _say)))
            elif options.snapshot:
                print("\n".join(growth.measure_old_snapshot(connection, server.url, options.snapshot, _say)))
            else:
                measured = run_rounds(connection, server.url, options.rounds, scenarios, SIDES, _say)
                rows = report.summarize(measured)
                version = connection.execute("show server_version").fetchone()
                facts = {
                    "postgresql": version[0],
                    "cores": os.cpu_count(),
                    "machine": platform.machine(),
                    "rounds": options.rounds,
                }
                print(report.as_json(rows, facts) if options.json else report.as_table(rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="the report shows medians over them (5)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual number of messages (1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="scenarios whose name has this text")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument(
        "--growth", type=int, nargs="+", metavar="N", help="instead: the cost of a claim with N messages waiting"
    )
    parser.add_argument(
        "--snapshot", type=float, metavar="SECONDS", help="instead: steady load while an old snapshot is held"
    )
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
