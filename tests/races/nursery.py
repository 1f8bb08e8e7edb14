# ruff: noqa: T201 - standard output is how it answers
"""A process that forks runners of redrives in no time, to be killed just as fast: loading Django takes far longer.

Reads "<redrive id> <batch size>" lines and answers each with the process id of a child that runs it to the end.
"""

import os
import signal
import sys

import django


def main() -> None:
    django.setup()
    from dlq import redrives

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    print("ready", flush=True)
    for line in sys.stdin:
        redrive_id, redrives.BATCH_MESSAGES = (int(word) for word in line.split())
        child = os.fork()
        if child == 0:
            redrives.run_in_foreground(redrive_id)
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
