# ruff: noqa: T201 - standard output is how it answers
"""A process that forks runners of undos in no time, to be killed just as fast: loading Django takes far longer.

Reads "<undo id> <batch size>" lines and answers each with the process id of a child that runs it to the end.
"""

import os
import signal
import sys

import django


def main() -> None:
    django.setup()
    from dlq import undo

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    print("ready", flush=True)
    for line in sys.stdin:
        undo_id, undo.BATCH_MESSAGES = (int(word) for word in line.split())
        child = os.fork()
        if child == 0:
            undo.run_in_foreground(undo_id)
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
