"""Faults that the nemesis can make, by their names in the schedule."""

from __future__ import annotations

from tests.chaos.faults import network_faults, process_faults, server_faults, session_faults
from tests.chaos.faults.nemesis import Doing

FAULTS: dict[str, Doing] = {
    **process_faults.FAULTS,
    **server_faults.FAULTS,
    **network_faults.FAULTS,
    **session_faults.FAULTS,
}
