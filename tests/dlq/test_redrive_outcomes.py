"""What became of what was sent again."""

from __future__ import annotations

import pytest

from dlq import outcomes, redrives
from dlq.outcomes import Outcomes
from dlq.selecting import newest_id
from tests.dlq.graveyards import Graveyard


def redrive_all(graveyard: Graveyard) -> int:
    redrive = redrives.create(graveyard.filter, newest_id(), actor="ann", reason="")
    return redrives.run_in_foreground(redrive.pk).pk


def test_each_message_counts_where_it_is_now(graveyard: Graveyard) -> None:
    engine = graveyard.engine
    graveyard.bury(5)
    redrive_id = redrive_all(graveyard)

    dying, resting, acked, _held = [row[1] for row in engine.receive(4)]
    engine.nack(dying, reason="rejected")
    engine.nack(resting, delay_seconds=60)
    engine.ack(acked)

    found = outcomes.outcomes(redrive_id)
    assert found == Outcomes(examined=5, dead_again=1, in_flight=1, backing_off=1)
    assert found.done_or_waiting == 2


def test_only_the_newest_are_examined(graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "MOST_EXAMINED", 3)
    graveyard.bury(5)
    redrive_id = redrive_all(graveyard)

    assert outcomes.outcomes(redrive_id) == Outcomes(examined=3, dead_again=0, in_flight=0, backing_off=0)


def test_a_redrive_that_moved_nothing_has_no_outcomes(graveyard: Graveyard) -> None:
    assert outcomes.outcomes(redrive_all(graveyard)) == Outcomes(0, 0, 0, 0)
