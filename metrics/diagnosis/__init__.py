"""Why a queue has a backlog: evidence gathered in a fixed number of queries, and a pure judgement of it.

How bad a queue stands is `console.verdicts`; this room says why, what proves it, what to do, and what it is not.
"""

from metrics.diagnosis.diagnosis import Diagnosis, diagnose
from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.reading import read_evidence

__all__ = ["Diagnosis", "Evidence", "diagnose", "read_evidence"]
