# ruff: noqa: T201 - standard output is how it answers
"""`python -m tests.chaos`: a run in a PostgreSQL of its own; prints its report, and fails when its verdict does."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.report import as_json, report
from tests.chaos.run import Plan, run
from tests.chaos.server import ChaosServer


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of everybody's end
    options = parse_arguments()
    plan = Plan(options.seed, options.faults, options.messages, options.pause, phases=options.phases)
    with ChaosServer({"max_connections": "400"} if options.phases else None) as server:
        result = run(plan, server, say)
        if not result.verdict.valid:
            say(f"What everybody wrote down: {kept(server.home / 'history')}")
    print(report(result))
    if options.json:
        options.json.write_text(as_json(result))
    for error in result.errors:
        say(error)
    if not result.verdict.valid:
        print(f"CHAOS_SEED={plan.seed}\n{result.verdict}", file=sys.stderr)
        sys.exit(1)


def kept(history: Path) -> Path:
    """Folder of the histories after the server's home is gone, to look up what the checker names."""
    place = Path(tempfile.mkdtemp(prefix="signalbox-chaos-history-"))
    return shutil.copytree(history, place, dirs_exist_ok=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    environment = os.environ.get
    chance = random.SystemRandom().randrange(1_000_000)
    parser.add_argument("--seed", type=int, default=int(environment("CHAOS_SEED") or chance))
    parser.add_argument("--faults", type=int, default=int(environment("CHAOS_FAULTS") or 1000))
    parser.add_argument("--messages", type=int, default=int(environment("CHAOS_MESSAGES") or 5_000_000))
    parser.add_argument("--pause", type=float, default=1.2, help="seconds between faults, on average")
    parser.add_argument("--phases", action="store_true", help="five phases and four cells of pressure first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser.parse_args()


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
