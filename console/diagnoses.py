"""Diagnoses as pages show them: for a queue's own page, and for the rows of a list; and where their proof is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from dlq.filters.syntax import quote
from metrics.diagnosis import Diagnosis, Evidence, diagnose, read_evidence
from metrics.diagnosis.suspects import Figure, Page, Proof, Suspect
from metrics.xmin_holders import Holder
from queues.counters import QueueNumbers


@dataclass(frozen=True)
class Finding:
    """A cause that was found, and the address of its proof."""

    suspect: Suspect
    proof_url: str

    @property
    def figures(self) -> Sequence[Figure]:
        """The numbers that the sentence does not say already."""
        return [one for one in self.suspect.figures if not _says(self.suspect.sentence, one.words)]


def _says(sentence: str, words: str) -> bool:
    """Whether these words stand in it whole: 30 does not say 0."""
    return bool(re.search(rf"(?<![\w.,]){re.escape(words)}(?![.,]?\w)", sentence))


@dataclass(frozen=True)
class Explained:
    """A diagnosis with everything that its panel links to."""

    diagnosis: Diagnosis
    findings: Sequence[Finding]


def explain(numbers: QueueNumbers) -> Explained:
    """Why one queue has a backlog."""
    diagnosis = read_diagnoses([numbers])[numbers.queue_id]
    return Explained(diagnosis, [Finding(one, _url(numbers.name, one.proof)) for one in diagnosis.found])


def read_diagnoses(numbers: Sequence[QueueNumbers], holders: Sequence[Holder] | None = None) -> dict[int, Diagnosis]:
    """The diagnosis of each queue, by id. Evidence is read only of those in which something waits."""
    evidence = read_evidence([one for one in numbers if _may_have_backlog(one)], holders)
    return {one.queue_id: diagnose(evidence.get(one.queue_id, Evidence(one))) for one in numbers}


def _may_have_backlog(numbers: QueueNumbers) -> bool:
    return bool(numbers.ready or numbers.waiting or numbers.scheduled) and not numbers.is_dead_letter_queue


# Tabs of a queue's page, and what is looked for in them.
_TABS = {
    Page.AUDIT: ("queue_audit", ""),
    Page.CONSUMERS: ("queue_consumers", ""),
    Page.FAILURES: ("queue", "#failures"),
    Page.HISTORY: ("queue", "#history"),
    Page.LANES: ("queue_lanes", ""),
    Page.READY: ("queue_messages", "?state=ready"),
    Page.SCHEDULED: ("queue_messages", "?state=scheduled"),
    Page.SETTINGS: ("queue_settings", ""),
}
_PAGES = {Page.OLD_SNAPSHOTS: "old_snapshots", Page.TENANT: "tenants"}


def _url(queue: str, proof: Proof | None) -> str:
    """The page of the proof, narrowed to what was found."""
    if proof is None:
        return ""
    if proof.page in _PAGES:
        return reverse(_PAGES[proof.page])
    if proof.page is Page.DEAD_LETTERS:
        cause = f" fp:{quote(proof.search)}" if proof.search else ""
        return f"{reverse('dead_letters')}?{urlencode({'q': f'queue:{quote(queue)}{cause}'})}"
    name, rest = _TABS[proof.page]
    group = f"?{urlencode({'group': proof.search})}" if proof.page is Page.LANES and proof.search else ""
    return f"{reverse(name, args=[queue])}{rest}{group}"
