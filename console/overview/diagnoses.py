"""Diagnoses for a queue's own page and for the rows of a list, with addresses of the pages that prove them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from dlq.filters.syntax import quote
from metrics.diagnosis import Diagnosis, Evidence, diagnose, read_evidence
from metrics.diagnosis.suspects import Figure, Page, Proof, Suspect
from metrics.reading.fleet import slowest
from metrics.reading.xmin_holders import Holder
from queues.control.subscriptions import feeds_by_target
from queues.counters.queue_numbers import QueueNumbers


@dataclass(frozen=True)
class Finding:
    """A cause that was found, and the address of its proof."""

    suspect: Suspect
    proof_url: str

    @property
    def figures(self) -> Sequence[Figure]:
        """The numbers that the sentence does not say already."""
        said = self.suspect.sentence
        # Compare whole words: a sentence with 30 does not contain the figure 0.
        whole = r"(?<![\w.,]){}(?![.,]?\w)"
        return [one for one in self.suspect.figures if not re.search(whole.format(re.escape(one.words)), said)]


def explain(numbers: QueueNumbers) -> dict[str, object]:
    """Explain why one queue has a backlog, with everything that the panel links to."""
    diagnosis = read_diagnoses([numbers])[numbers.queue_id]
    return {
        "diagnosis": diagnosis,
        "findings": [Finding(one, _url(numbers.name, one.proof)) for one in diagnosis.found],
    }


def read_diagnoses(numbers: Sequence[QueueNumbers], holders: Sequence[Holder] | None = None) -> dict[int, Diagnosis]:
    """Return the diagnosis of each queue, by id. Evidence is read only for queues in which messages wait."""
    others = [one for one in numbers if not one.is_dead_letter_queue]
    feeds = feeds_by_target([one.queue_id for one in others])
    behind = {queue_id for queue_id, known in feeds.items() if slowest(known)}
    backlogs = [one for one in others if one.ready or one.waiting or one.scheduled or one.queue_id in behind]
    evidence = read_evidence(backlogs, holders, feeds)
    return {one.queue_id: diagnose(evidence.get(one.queue_id, Evidence(one))) for one in numbers}


# Tabs of a queue's page, and what is looked for in them.
_TABS = {
    Page.AUDIT: ("queue_audit", ""),
    Page.CONSUMERS: ("queue_consumers", ""),
    Page.FAILURES: ("queue", "#failures"),
    Page.HISTORY: ("queue", "#history"),
    Page.LANES: ("queue_groups", ""),
    Page.READY: ("queue_messages", "?state=ready"),
    Page.SCHEDULED: ("queue_messages", "?state=scheduled"),
    Page.SETTINGS: ("queue_settings", ""),
}
_PAGES = {Page.OLD_SNAPSHOTS: "old_snapshots", Page.TENANT: "tenants", Page.SUBSCRIPTIONS: "subscriptions"}


def _url(queue: str, proof: Proof | None) -> str:
    """Return the address of the page that proves a cause, with a filter for it; empty without a proof."""
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
