"""Masking of payloads and errors on pages: rows, samples, errors and the story of one message.

All users see the mask. A person with the permission `reveal` reveals the fields of one message at a time, with an audit
row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from console.dead_letters import causes
from dlq.failure_groups.reading import FailureGroup
from dlq.masking.masks import MASK, Rules, View, mask
from dlq.masking.rules import Masking, died_in
from dlq.redrives import patching
from dlq.redrives.plan_options import Options
from dlq.redrives.plans import Preview
from dlq.search.dead_letter_list import DeadLetterRow
from dlq.search.message_list import MessageRow
from dlq.search.pages import Page
from queues.messages.story import Body, Story
from queues.models import Failure, Queue
from signalbox.payloads.unreadable import decode


def dead_letters(rows: Sequence[DeadLetterRow]) -> list[DeadLetterRow]:
    """Mask the dead letters of a list."""
    masking = Masking()
    return [_dead_letter(masking.of_dead_letters(row.source_queue, row.queue), row) for row in rows]


def _dead_letter(rules: Rules, row: DeadLetterRow) -> DeadLetterRow:
    if not rules:
        return row
    error = row.error and MASK
    # With the whole payload, mask only the quotes of masked values. With attribute rules or a cut payload, mask all.
    if row.error is not None and not rules.attributes and row.payload_text is not None:
        error = rules.view(decode(row.payload_text)).text(row.error)
    return replace(row, payload_text=rules.mask_text(row.payload_text), error=error)


def dead_letter_page(page: Page[DeadLetterRow]) -> Page[DeadLetterRow]:
    return replace(page, rows=dead_letters(page.rows))


def message_page(queue: str, page: Page[MessageRow]) -> Page[MessageRow]:
    rules = Masking().of(queue)
    return replace(page, rows=[replace(row, payload_text=rules.mask_text(row.payload_text)) for row in page.rows])


def preview(seen: Preview) -> Preview:
    """Mask the samples of a plan."""
    return replace(seen, samples=dead_letters(seen.samples))


def found_causes(found: causes.Causes) -> causes.Causes:
    """Mask the example errors of causes whose queues have masking rules: an example may quote a masked value."""
    masking = Masking()
    return replace(
        found,
        causes=[
            replace(one, error=MASK) if one.error and masking.of_dead_letters(*one.sources, *one.holders) else one
            for one in found.causes
        ],
    )


def difference(rules: Rules, before: str, after: str) -> list[tuple[str, str]]:
    """Return the changed lines of a patched payload, with the masks of both: a patch may copy masked values."""
    if not rules.payload:
        return patching.difference(before, after)
    old, new = patching.load(before), patching.load(after)
    view = rules.view(old).also(new)
    return patching.difference(*(json.dumps(view.document(one), ensure_ascii=False) for one in (old, new)))


def patch_text(options: Options) -> str:
    """Return a patch for readers. Values that it writes to paths masked in any queue are masked."""
    return replace(options, patch=Masking().shown_patch(options.patch)).patch_text


def group(found: FailureGroup, masking: Masking) -> FailureGroup:
    """Mask the example error of a failure group whose queues have masking rules."""
    known = found.source_count == len(found.sources)
    rules = masking.of_dead_letters(*(source.queue for source in found.sources)) if known else masking.everywhere()
    return replace(found, error=MASK, template=None) if found.error and rules else found


def failures(queue: str, found: Iterable[Failure]) -> list[Failure]:
    """Mask the errors of failures. Without the payloads at hand, whole errors are masked."""
    rules, shown = Masking().of(queue), list(found)
    for failure in shown if rules else ():
        failure.error = failure.error and MASK
    return shown


def rules_of(story: Story) -> Rules:
    """Return the rules for a message, of every queue that had it."""
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
    """List the paths of the rules that mask a field of this message."""
    documents = [] if body is None else [("payload", body.payload), ("attributes", body.attributes)]
    return sorted(
        ".".join((part, *rule))
        for part, document in documents
        for rule in getattr(rules, part)
        if mask(document, [rule]) != document
    )


def conceal(story: Story, rules: Rules) -> None:
    """Mask every part of a message's story that contains or may quote a masked value."""
    if not rules:
        return
    body, view = story.body, View(rules, None)
    if body is not None:
        view = rules.view(body.payload, body.attributes, complete=not body.large)
        view = view.also(*(one.payload for one in story.rewritten))
    for one in story.rewritten:
        one.payload = view.payload(one.payload)
    for failure in story.failures:
        failure.error = view.text(failure.error)
        failure.details = view.text(failure.details)
    story.settlements = [replace(one, result=view.document(one.result)) for one in story.settlements]
    if story.dead_letter:
        story.dead_letter.state = view.document(story.dead_letter.state)
    if body is not None:
        payload, attributes = view.payload(body.payload), view.attributes(body.attributes)
        story.body = replace(body, payload=payload, attributes=attributes, state=view.document(body.state))


def large_body(rules: Rules, content: bytes) -> bytes:
    """Mask a body from the body store for a download."""
    if not rules.payload:
        return content
    return json.dumps(mask(decode(content), rules.payload), ensure_ascii=False).encode()
