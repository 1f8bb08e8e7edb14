# ruff: noqa: T201 - standard output is how it answers
"""A process that forks runners which kill themselves: loading Django takes far longer than any of them lives.

Reads "<kind> <job id> <statement>" lines; a child runs one batch of the job and dies right before that statement.
Answers "killed" or "ended" once the child is gone.
"""

import gc
import os
import signal
import sys

import django


def main() -> None:
    django.setup()
    from dlq.redrives import redrives
    from dlq.trash import deletions, purges
    from tests.races.dead_letters import kill_matrix

    kill_matrix.install_watch(setattr)
    kill_matrix.small_batches(setattr)
    slices = {"redrive": redrives.run_slice, "deletion": deletions.run_slice, "purge": purges.run_slice}
    gc.collect()
    gc.freeze()  # as in nursery.py
    print("ready", flush=True)
    for line in sys.stdin:
        kind, job_id, number = line.split()
        child = os.fork()
        if child == 0:
            with kill_matrix.before_statement(int(number), lambda: os.kill(os.getpid(), signal.SIGKILL)):
                slices[kind](int(job_id), 0)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)


if __name__ == "__main__":
    main()
