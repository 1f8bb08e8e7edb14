"""Two cells for redrives over cells."""

from tests.queues.fleet.conftest import cells as cells
from tests.queues.fleet.conftest import databases as databases
