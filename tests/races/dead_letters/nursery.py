# ruff: noqa: T201 - standard output is how it answers
"""A process that forks runners of jobs in no time, which die just as fast: loading Django takes far longer.

Reads "<noun> <job id> <batch size> <seconds>" lines, runs the job in a child that dies this many seconds after it has
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
    from dlq.redrives import redrives
    from dlq.trash import restore

    modules = {"redrive": redrives, "undo": restore}
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
    """End the child in its own process: on a busy machine a killer may come too late."""
    from dlq.jobs import lifecycle

    claim = lifecycle.claim

    def claim_and_die(*arguments: Any) -> bool:
        claimed = claim(*arguments)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return claimed

    lifecycle.claim = claim_and_die


if __name__ == "__main__":
    main()
