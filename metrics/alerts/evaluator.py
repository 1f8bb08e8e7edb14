"""The process that looks for alerts and tells people: two loops, so that a slow mail server delays no look."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.db import Error, connections

from metrics.alerts import evaluating, notifications
from queues.stopping import Stopping

DELIVER_SECONDS = 2.0

log = logging.getLogger(__name__)


@dataclass
class Evaluator:
    """One process's evaluator. `run` until `stop`; survives losing the database."""

    stopping: Stopping = field(default_factory=Stopping)

    def stop(self) -> None:
        """End both loops after what they are at."""
        self.stopping.set()

    def run(self) -> None:
        """Look and tell, until stopped."""
        teller = threading.Thread(target=self._every, args=(DELIVER_SECONDS, notifications.deliver), name="teller")
        teller.start()
        try:
            self._every(float(settings.ALERTS_EVERY_SECONDS), evaluating.evaluate)
        finally:
            self.stop()
            teller.join()

    def _every(self, seconds: float, step: Callable[[], object]) -> None:
        while not self.stopping.is_set():
            try:
                step()
            except Error:
                log.warning("the database cannot be asked, trying again", exc_info=True)
            except Exception:
                log.exception("this round failed, trying again")
            finally:
                connections.close_all()
            self.stopping.wait(seconds)
