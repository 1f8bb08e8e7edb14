# ruff: noqa: T201 - standard output is how it answers
"""A process that forks runners of jobs in no time, which die just as fast: loading Django takes far longer.

Reads "<noun> <job id> <batch size> <seconds>" lines, runs the job in a child that dies so many seconds after it has
claimed it, and answers when it has: with the number of the signal, or 0 where the job was over first.
"""

import gc
import os
import signal
import sys
from typing import Any

import django


def main() -> None:
    django.setup()
    from dlq import redrives, undo

    modules = {"redrive": redrives, "undo": undo}
    gc.collect()
    gc.freeze()  # else each child may look through all that was loaded, and that takes longer than most of them live
    print("ready", flush=True)
    for line in sys.stdin:
        noun, job_id, batch, seconds = line.split()
        modules[noun].BATCH_MESSAGES = int(batch)
        child = os.fork()
        if child == 0:
            die_after_claiming(float(seconds))
            modules[noun].run_in_foreground(int(job_id))
            os._exit(0)
        print(os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)


def die_after_claiming(seconds: float) -> None:
    """Nobody else could: on a busy machine a killer may come when all is over."""
    from dlq import jobs

    claim = jobs.claim

    def claim_and_die(*arguments: Any) -> bool:
        claimed = claim(*arguments)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return claimed

    jobs.claim = claim_and_die


if __name__ == "__main__":
    main()
