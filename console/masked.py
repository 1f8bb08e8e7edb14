"""What the masking rules hide, hidden in what pages show: rows, samples, errors and the story of one message.

Everybody sees the mask. Who may reveal does so for one message at a time, and the audit says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest

from console import causes, roles
from console.message_story import Body, Story
from dlq.browse import DeadLetterRow, MessageRow, Page
from dlq.clusters import Cluster
from dlq.masking import MASK, Rules, mask, scrub, scrub_document
from dlq.masking_rules import Masking
from dlq.plans import Preview
from queues.models import Failure
from signalbox.unreadable import decode


def letters(masking: Masking, rows: Sequence[DeadLetterRow]) -> list[DeadLetterRow]:
    """Dead letters as a list may show them."""
    return [_letter(masking.of(row.source_queue, row.queue), row) for row in rows]


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
    shown = [replace(one, error=MASK) if one.error and masking.of(*one.sources) else one for one in found.causes]
    return replace(found, causes=shown)


def difference(
    rules: Rules, payload: str | None, lines: Sequence[tuple[str, str]], problem: str
) -> tuple[Sequence[tuple[str, str]], str]:
    """What a patch changes in a payload, or why it does not apply: what is masked may be in either, and be copied."""
    if not rules.payload or payload is None:
        return lines, problem
    values = rules.values(decode(payload))
    return [(mark, scrub(line, values)) for mark, line in lines], scrub(problem, values)


def cluster(found: Cluster, masking: Masking) -> Cluster:
    """A cluster with an example of its error: where anything is masked, an example may quote it."""
    known = found.source_count == len(found.sources)
    rules = masking.of(*(source.queue for source in found.sources)) if known else masking.everywhere()
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
    return Masking().of(*sorted(names))


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
    body = story.body
    values = None if body is None or (body.large and rules.payload) else rules.values(body.payload, body.attributes)
    if values is not None:
        values = values.union(*(rules.values(one.payload) for one in story.rewritten))
    for one in story.rewritten:
        one.payload = mask(one.payload, rules.payload)
    for failure in story.failures:
        failure.error = quoted(failure.error, values)
        failure.details = quoted(failure.details, values)
    story.settlements = [replace(one, result=_document(one.result, rules, values)) for one in story.settlements]
    if story.dead_letter:
        story.dead_letter.state = _document(story.dead_letter.state, rules, values)
    if body is not None:
        story.body = replace(
            body,
            payload=mask(body.payload, rules.payload),
            attributes=scrub_document(mask(body.attributes, rules.attributes), values or set()),
            state=_document(body.state, rules, values),
        )


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
    return scrub(row.error, rules.values(decode(row.payload_text)))


def quoted(text: str | None, values: set[str] | None) -> str | None:
    """A text that may quote masked values; None for what they are: they are not known, and all of it is masked."""
    if text is None:
        return None
    return MASK if values is None else scrub(text, values)


def _document(document: Any, rules: Rules, values: set[str] | None) -> Any:
    """A state or a result, which a handler may have filled from the payload."""
    if document is None:
        return None
    return MASK if values is None else scrub_document(mask(document, rules.payload), values)
