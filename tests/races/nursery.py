# ruff: noqa: T201 - standard output is how it answers
"""A process that forks runners of jobs in no time, to be killed just as fast: loading Django takes far longer.

Reads "<noun> <job id> <batch size>" lines and answers each with the process id of a child that runs it to the end.
"""

import gc
import os
import signal
import sys

import django


def main() -> None:
    django.setup()
    from dlq import redrives, undo

    modules = {"redrive": redrives, "undo": undo}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    gc.collect()
    gc.freeze()  # else each child may look through all that was loaded, and that takes longer than most of them live
    print("ready", flush=True)
    for line in sys.stdin:
        noun, job_id, batch = line.split()
        modules[noun].BATCH_MESSAGES = int(batch)
        child = os.fork()
        if child == 0:
            modules[noun].run_in_foreground(int(job_id))
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
