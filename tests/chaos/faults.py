"""What the nemesis can do, by the names of the schedule."""

from __future__ import annotations

from tests.chaos import network_faults, process_faults, server_faults, session_faults
from tests.chaos.nemesis import Doing

FAULTS: dict[str, Doing] = {
    **process_faults.FAULTS,
    **server_faults.FAULTS,
    **network_faults.FAULTS,
    **session_faults.FAULTS,
}
