"""Diagnosis of a backlog: evidence gathered in a fixed number of queries, and a pure judgement of the evidence.

`console.overview.verdicts` says how serious a backlog is; this package says why it exists, with the next step.
"""

from metrics.diagnosis.diagnosis import Diagnosis, diagnose
from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.reading import read_evidence

__all__ = ["Diagnosis", "Evidence", "diagnose", "read_evidence"]
