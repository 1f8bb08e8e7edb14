"""JSON that Python cannot read is shown as stored or masked as a whole, and breaks no page or export."""

from __future__ import annotations

import pytest

from dlq.export import rows
from dlq.masking import masks
from dlq.search.checked_filter import check_filter, everything
from dlq.trash import deletions
from queues.dead_letters.ids import newest_id
from queues.models import DeadLetter, Queue, Trashed
from signalbox.payloads.unreadable import Unreadable, decode
from tests.console.browsers import Browser
from tests.engine import Engine
from tests.poison import POISONS, each_poison, in_attributes, spoil


def spoiled(engine: Engine, poison: str, column: str) -> int:
    message_id = engine.send({"n": 1})
    spoil(engine.connection, message_id, poison if column == "payload" else in_attributes(poison), column)
    return message_id


@each_poison
@pytest.mark.parametrize("column", ["payload", "attributes"])
def test_pages_and_exports_show_it(operator: Browser, engine: Engine, poison: str, column: str) -> None:
    first, second = (spoiled(engine, poison, column) for _ in range(2))
    stored = engine.value(f"select {column}::text from signalbox.message where message_id = %s", first)
    list_url = f"/queues/{engine.queue}/messages"
    assert "JSON that Python cannot read" in operator.see(f"{list_url}/{first}").text
    operator.see(list_url)

    handle = engine.value("select receipt_handle from signalbox.receive(%s)", engine.queue)
    assert engine.nack(handle, reason="rejected", error="no") == "dead"
    assert "JSON that Python cannot read" in operator.see(f"{list_url}/{first}").text
    operator.see("/dead-letters")
    assert isinstance(getattr(DeadLetter.objects.get(message_id=first), column), Unreadable)

    chosen = check_filter(f"queue:{engine.queue}")
    (row,) = [row for batch in rows.dead_letters(chosen, see_payloads=True).batches for row in batch]
    assert str(row[column]) == stored
    queue = Queue.objects.get(name=engine.queue)
    (row,) = [row for batch in rows.messages(queue, everything(), see_payloads=True).batches for row in batch]
    assert (row["message_id"], str(row[column])) == (second, stored)


@each_poison
def test_a_dead_letter_in_the_trash_is_shown(operator: Browser, engine: Engine, poison: str) -> None:
    message_id = spoiled(engine, poison, "payload")
    handle = engine.value("select receipt_handle from signalbox.receive(%s)", engine.queue)
    assert engine.nack(handle, reason="rejected", error="no") == "dead"
    job = deletions.create(check_filter(f"queue:{engine.queue}"), newest_id(), actor="ann", reason="")
    deletions.run_in_foreground(job.pk)
    assert isinstance(Trashed.objects.get(message_id=message_id).letter, Unreadable)

    assert "trash" in operator.see(f"/queues/{engine.queue}/messages/{message_id}").text


@pytest.mark.parametrize("text", POISONS.values(), ids=list(POISONS))
def test_where_anything_is_masked_nothing_of_it_is_shown(text: str) -> None:
    value, rules = decode(text if not text.startswith("1e") else "1" * 5000), [("card", "number")]

    assert isinstance(value, Unreadable)
    assert masks.mask(value, rules) == masks.MASK
    assert masks.scrub("quotes it", masks.masked_values(value, rules)) == masks.MASK
    assert masks.scrub_document(value, {"x"}) == masks.MASK
    assert masks.mask(value, []) is value
