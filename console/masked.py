"""What the masking rules hide, hidden in what pages show: rows, samples, errors and the story of one message.

Everybody sees the mask. Who may reveal does so for one message at a time, and the audit says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.http import HttpRequest

from console import causes, roles
from console.message_story import Body, Story
from dlq import patching
from dlq.browse import DeadLetterRow, MessageRow, Page
from dlq.clusters import Cluster
from dlq.masking import MASK, Rules, View, mask
from dlq.masking_rules import Masking, died_in
from dlq.plan_options import Options
from dlq.plans import Preview
from queues.models import Failure, Queue
from signalbox.unreadable import decode


def letters(masking: Masking, rows: Sequence[DeadLetterRow]) -> list[DeadLetterRow]:
    """Dead letters as a list may show them."""
    return [_letter(masking.of_letters(row.source_queue, row.queue), row) for row in rows]


def letter_page(page: Page[DeadLetterRow]) -> Page[DeadLetterRow]:
    return replace(page, rows=letters(Masking(), page.rows))


def message_page(queue: str, page: Page[MessageRow]) -> Page[MessageRow]:
    rules = Masking().of(queue)
    return replace(page, rows=[replace(row, payload_text=rules.mask_text(row.payload_text)) for row in page.rows])


def preview(seen: Preview) -> Preview:
    """The samples of a review."""
    return replace(seen, samples=letters(Masking(), seen.samples))


def found_causes(found: causes.Causes) -> causes.Causes:
    """Causes with an example of an error each: where anything is masked, an example may quote it."""
    masking = Masking()
    return replace(
        found,
        causes=[
            replace(one, error=MASK) if one.error and masking.of_letters(*one.sources, *one.holders) else one
            for one in found.causes
        ],
    )


def difference(rules: Rules, before: str, after: str) -> list[tuple[str, str]]:
    """The changed lines of a patched payload, with the masks of both payloads: a patch may copy a masked value."""
    if not rules.payload:
        return patching.difference(before, after)
    old, new = patching.load(before), patching.load(after)
    view = rules.view(old).also(new)
    return patching.difference(*(json.dumps(view.document(one), ensure_ascii=False) for one in (old, new)))


def patch_text(options: Options) -> str:
    """A patch for readers: a value that it writes to a path that is masked in any queue is masked."""
    return replace(options, patch=Masking().shown_patch(options.patch)).patch_text


def cluster(found: Cluster, masking: Masking) -> Cluster:
    """A cluster with an example of its error: where anything is masked, an example may quote it."""
    known = found.source_count == len(found.sources)
    rules = masking.of_letters(*(source.queue for source in found.sources)) if known else masking.everywhere()
    return replace(found, error=MASK) if found.error and rules else found


def failures(queue: str, found: Iterable[Failure]) -> list[Failure]:
    """Failures without their payloads at hand: the error is masked as a whole."""
    rules, shown = Masking().of(queue), list(found)
    for failure in shown if rules else ():
        failure.error = failure.error and MASK
    return shown


def rules_of(story: Story) -> Rules:
    """What is masked of a message, by every queue that it is known to have been in."""
    names = {story.queue.name, *(redriven.queue.name for redriven in story.redriven)}
    if story.dead_letter:
        names |= {story.dead_letter.source_queue, story.dead_letter.queue.name}
    if story.body:
        names |= set(died_in(story.body.attributes))
    masking = Masking()
    if masking:
        failed_in = {failure.queue_id for failure in story.failures}
        names |= set(Queue.objects.filter(pk__in=failed_in).values_list("name", flat=True))
    return masking.of(*sorted(names))


def hidden_fields(rules: Rules, body: Body | None) -> list[str]:
    """The rules that hide something of this message, as paths."""
    if body is None:
        return []
    found = [("payload", rule) for rule in rules.payload if mask(body.payload, [rule]) != body.payload]
    found += [("attributes", rule) for rule in rules.attributes if mask(body.attributes, [rule]) != body.attributes]
    return sorted(".".join((part, *rule)) for part, rule in found)


def conceal(story: Story, rules: Rules) -> None:
    """Put the mask over everything of the story that shows or may quote what is masked."""
    if not rules:
        return
    body, view = story.body, _view(story, rules)
    for one in story.rewritten:
        one.payload = view.payload(one.payload)
    for failure in story.failures:
        failure.error = view.text(failure.error)
        failure.details = view.text(failure.details)
    story.settlements = [replace(one, result=view.document(one.result)) for one in story.settlements]
    if story.dead_letter:
        story.dead_letter.state = view.document(story.dead_letter.state)
    if body is not None:
        story.body = replace(
            body,
            payload=view.payload(body.payload),
            attributes=view.attributes(body.attributes),
            state=view.document(body.state),
        )


def _view(story: Story, rules: Rules) -> View:
    if story.body is None:
        return View(rules, None)
    view = rules.view(story.body.payload, story.body.attributes, complete=not story.body.large)
    return view.also(*(one.payload for one in story.rewritten))


def large_body(rules: Rules, content: bytes) -> bytes:
    """A body from the store, as it may be downloaded."""
    if not rules.payload:
        return content
    return json.dumps(mask(decode(content), rules.payload), ensure_ascii=False).encode()


def may_reveal(request: HttpRequest) -> bool:
    return roles.may_here(request, "reveal")


def _letter(rules: Rules, row: DeadLetterRow) -> DeadLetterRow:
    if not rules:
        return row
    return replace(row, payload_text=rules.mask_text(row.payload_text), error=_error(rules, row))


def _error(rules: Rules, row: DeadLetterRow) -> str | None:
    """Scrubbed where all that may be quoted is at hand; attributes, and payloads that were cut, are not."""
    if row.error is None or rules.attributes or row.payload_text is None:
        return row.error and MASK
    return rules.view(decode(row.payload_text)).text(row.error)
