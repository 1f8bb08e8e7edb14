"""Each option is checked by its name, and no text has the password."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import StructType

from signalbox.errors import InvalidArgument
from signalbox.spark import SignalboxSource, writing
from signalbox.spark.options import Target
from signalbox.spark.reading import Extraction, Question

QUEUE = {"url": "postgresql://ann:secret@db/app", "queue": "q"}
STREAM = {"url": "postgresql://ann:secret@db/app", "stream": "s"}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"queue": "q", "stream": "s"}, "queue"),
        ({}, "queue"),
        ({**QUEUE, "url": "https://queues.example.org"}, "url"),
        ({**QUEUE, "url": "postgresql://ann:secret@[db/app"}, "url"),
        ({**QUEUE, "colums": "payload"}, "colums"),
        ({**QUEUE, "columns": "payload,colour"}, "columns"),
        ({**QUEUE, "state": "dead"}, "state"),
        ({**QUEUE, "partitions": "0"}, "partitions"),
        ({**QUEUE, "max_messages": "many"}, "max_messages"),
        ({**QUEUE, "sent_from": "2026-11-21T08:00:00"}, "sent_from"),
        ({**QUEUE, "from": "earliest"}, "from"),
        ({**STREAM, "from": "yesterday"}, "from"),
        ({**STREAM, "to": '{"0": -1}'}, "to"),
        ({**STREAM, "to": '["0"]'}, "to"),
        ({**STREAM, "on_loss": "cry"}, "on_loss"),
        ({**STREAM, "state": "ready"}, "state"),
    ],
)
def test_an_option_that_is_wrong_is_named(options: dict[str, str], field: str) -> None:
    def read() -> None:
        made = SignalboxSource(options)
        made.reader(made.schema())

    with pytest.raises(InvalidArgument) as caught:
        read()
    assert caught.value.field == field
    assert "secret" not in str(caught.value)


def test_a_schema_of_ones_own_and_overwriting_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="schema"):
        SignalboxSource(QUEUE).reader(StructType())
    with pytest.raises(InvalidArgument, match="append"):
        SignalboxSource(QUEUE).writer(StructType(), overwrite=True)


def test_the_address_is_that_of_the_machine_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SignalboxSource({"queue": "q"})
    reader: Any = made.reader(made.schema())
    for name in ("SIGNALBOX_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(InvalidArgument, match="url is missing"):
        reader.target.dsn("tests")
    monkeypatch.setenv("SIGNALBOX_URL", "postgresql://db/app")
    assert "host=db" in reader.target.dsn("tests")


def test_no_text_of_ours_has_the_password() -> None:
    made = SignalboxSource(QUEUE)
    reader: Any = made.reader(made.schema())

    assert "secret" not in f"{reader.target} {reader.target!r}"


def test_no_error_of_a_connection_has_the_password() -> None:
    for connect in (Question, Extraction, writing.connect):
        with pytest.raises(Exception, match=r"refused|connect") as caught:
            connect(Target("q", None, "postgresql://ann:secret@127.0.0.1:1/app"))
        assert "secret" not in f"{caught.value!r} {caught.value}"


@pytest.mark.proof
def test_no_plan_has_the_password(source: Any, url: str, engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    address = url.replace("postgresql:///?", "postgresql:///?password=secret&")

    source.read.format("signalbox").options(url=address, queue=engine.queue).load().explain(True)
    printed = capsys.readouterr().out

    assert "signalbox" in printed
    assert "secret" not in printed
