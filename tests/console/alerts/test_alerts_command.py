"""`manage.py alerts evaluate`: once for cron, or until stopped."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest
from django.core.management import call_command

from metrics.alerts.models import Alert, Evaluation, Notification
from metrics.management.commands.alerts import Evaluator
from tests.engine import Engine

PATIENCE_SECONDS = 120.0


@pytest.fixture(autouse=True)
def no_alerts_left(commits: None) -> Iterator[None]:
    clean_up()
    yield
    clean_up()


def clean_up() -> None:
    for model in (Alert, Evaluation, Notification):
        model.objects.all().delete()


def test_once_looks_and_says_what_it_found(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.die()

    call_command("alerts", "evaluate", "--once", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert facts["evaluated"]
    assert f"SignalboxDeadLetters {engine.queue}-dlq" in facts["fired"]
    assert facts["sent"] == 0
    call_command("alerts", "evaluate", "--once")
    assert "fired: []" in capsys.readouterr().out


def test_it_looks_until_it_is_stopped(engine: Engine) -> None:
    engine.die()
    evaluator = Evaluator()
    thread = threading.Thread(target=evaluator.run)
    thread.start()
    try:
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while not Alert.objects.filter(queue_name=f"{engine.queue}-dlq", state="firing").exists():
            assert time.monotonic() < give_up_at
            time.sleep(0.05)
    finally:
        evaluator.stop()
        thread.join()
