"""The doctor: what is wrong with an installation and what to do, in one list for people and programs."""

from console.doctor.examining import examine
from console.doctor.findings import Finding

__all__ = ["Finding", "examine"]
