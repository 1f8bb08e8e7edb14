"""manage.py upkeep: the engine's housekeeping, until interrupted."""

import signal
from contextlib import suppress
from typing import Any

from django.db import Error

from queues.commands import OwnCommand
from queues.database.durability import read_unsafe
from queues.stopping import on_signals
from queues.upkeep.upkeep import Upkeep


class Command(OwnCommand):
    help = "Run the upkeep of queues: counters, claim floors, partitions, history, retention, wake-ups."

    def handle(self, *args: Any, **options: Any) -> None:
        upkeep = Upkeep()
        on_signals(upkeep.stop, signal.SIGINT, signal.SIGTERM)
        with suppress(Error):  # upkeep waits for a database that does not answer
            for setting in read_unsafe():
                self.stderr.write(f"Messages can be lost here: {setting}.")
        self.stdout.write("Upkeep is running; Ctrl-C stops it.")
        upkeep.run()
