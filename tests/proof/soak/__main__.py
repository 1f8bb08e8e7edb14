# ruff: noqa: T201 - standard output is how it answers
"""Run the demo for an hour, with faults and visitors (`make soak`); fail when something keeps growing."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.proof.demo.running import Demo
from tests.proof.soak.faults import Faults
from tests.proof.soak.looking import Observer, Sample
from tests.proof.soak.report import growths, report
from tests.proof.soak.visiting import visit

LEAST_SAMPLES = 8


def main() -> None:
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="signalbox-soak-") as folder:
        Path(folder).chmod(0o755)  # the server has an account of its own where we are root
        samples, done = soak(Path(folder), options.minutes * 60, options.every, random.Random(options.seed))
    print(report(samples, done))
    if options.json:
        options.json.write_text(json.dumps([vars(sample) for sample in samples]))
    if grown := [growth for growth in growths(samples) if not growth.is_flat]:
        sys.exit(f"{len(grown)} figures grow: {', '.join(growth.name for growth in grown)}")


def soak(home: Path, seconds: float, every: float, dice: random.Random) -> tuple[list[Sample], dict[str, int]]:
    """Samples of a soak at fixed intervals, and the number of each fault."""
    demo = Demo(home)
    over = threading.Event()
    samples: list[Sample] = []
    try:
        demo.wait_until_up()
        faults, observer = Faults(demo, dice), Observer(demo)
        helpers = [
            threading.Thread(target=_again_and_again, args=(work, over), daemon=True)
            for work in (faults.next, lambda: visit(demo, over))
        ]
        began = time.monotonic()
        for helper in helpers:
            helper.start()
        while time.monotonic() - began < seconds or len(samples) < LEAST_SAMPLES:
            over.wait(every)
            samples.append(observer.look(time.monotonic() - began))
            print(samples[-1].in_brief(), file=sys.stderr, flush=True)
        over.set()
        for helper in helpers:
            helper.join(120)
        return samples, dict(faults.done)
    finally:
        over.set()
        demo.interrupt()


def _again_and_again(work: Callable[[], object], over: threading.Event) -> None:
    while not over.is_set():
        try:
            work()
        except Exception as error:  # whatever a fault does to us as well
            print(f"{type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
            over.wait(1)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=20, metavar="SECONDS", help="between two looks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
