"""Each cause of a backlog, made on the real engine and nothing else with it, is told right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metrics.diagnosis import Diagnosis
from metrics.diagnosis.suspects import Cause
from queues import control
from tests.engine import Engine
from tests.metrics.scenes import Scene

Scenes = Callable[..., Scene]


@pytest.fixture
def make_scene(commits: None, make_engine: Callable[..., Engine]) -> Scenes:
    return lambda **settings: Scene(make_engine(**settings))


def found(diagnosis: Diagnosis) -> list[Cause]:
    return [suspect.cause for suspect in diagnosis.found]


def test_a_paused_queue(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    control.pause_queue(scene.engine.queue, actor="ana", reason="partner is down")
    scene.send(12)
    scene.age(120)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.PAUSED]
    assert "hands out none of the 12 messages that wait" in diagnosis.sentence
    assert diagnosis.short == "12 messages held back."


def test_a_consumer_outage(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.consumers_leave(240)
    scene.send(12)
    scene.age(200)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.CONSUMER_OUTAGE]
    assert diagnosis.sentence.replace("\u00a0", " ").startswith("No consumer in the last minute, the last was seen 4 m")
    assert diagnosis.found[0].figures[1].value == 1


def test_nobody_ever_came(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.send(3)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.CONSUMER_OUTAGE]
    assert diagnosis.sentence == "No consumer in the last minute, nor in the day before; 3 messages wait."


def test_consumers_without_a_name_are_no_outage(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.send(3)
    scene.engine.receive_one()
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == []
    assert ruling(diagnosis, Cause.CONSUMER_OUTAGE) == "1 message in flight, with consumers that give no name"


def test_a_burst_of_senders(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual(60)
    scene.send(200)
    scene.work(15)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.PRODUCER_BURST]
    assert diagnosis.sentence.startswith("A burst of senders: 20/min arrived in the last 10")
    assert "185 messages wait" in diagnosis.sentence


def test_poison_messages(make_scene: Scenes) -> None:
    scene = make_scene(max_receives=3, backoff_base_seconds=0, jitter=0)
    scene.usual()
    scene.send(8)
    while rows := scene.engine.receive(8, consumer="worker-1"):
        for _, handle, *_ in rows:
            scene.engine.nack(handle, error_class="CorruptImageError", error="0 bytes", delay_seconds=0)
    scene.send(11)
    scene.work(6)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.POISON_DATA]
    assert "24 of 30 deliveries failed" in diagnosis.sentence
    assert "100 % of them of CorruptImageError, and 8 died" in diagnosis.sentence


def test_no_backlog_says_so(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()

    diagnosis = scene.diagnose()

    assert (diagnosis.backlog, diagnosis.sentence, diagnosis.short) == (False, "No backlog.", "")


def ruling(diagnosis: Diagnosis, cause: Cause) -> str:
    (sentence,) = (suspect.sentence for suspect in diagnosis.ruled_out if suspect.cause is cause)
    return sentence
