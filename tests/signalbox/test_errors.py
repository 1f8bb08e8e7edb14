"""Each SQLSTATE of the database becomes the error that says it in Python."""

from __future__ import annotations

import psycopg
import pytest

from signalbox import errors


@pytest.mark.parametrize("kind", [errors.SignalboxError, *errors.SignalboxError.__subclasses__()])
def test_the_docstring_is_the_default_message(kind):
    assert str(kind()) == kind.__doc__.strip().replace("\n    ", "\n")
    assert str(kind("in other words")) == "in other words"


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [
        ("SB404", errors.QueueNotFound),
        ("SB413", errors.PayloadTooLarge),
        ("SB423", errors.QueueClosed),
        ("SB425", errors.WrongIsolation),
    ],
)
def test_a_refusal_keeps_the_databases_words(connection, sqlstate, kind):
    with pytest.raises(kind, match=r"^in its words$"):
        refuse(connection, sqlstate, "message = 'in its words'")


def test_an_invalid_argument_names_its_field(connection):
    with pytest.raises(errors.InvalidArgument) as caught:
        refuse(connection, "SB400", "column = 'max_receives'")
    assert caught.value.field == "max_receives"


def test_a_deduplication_conflict_names_the_first_message(connection):
    with pytest.raises(errors.DeduplicationConflict) as caught:
        refuse(connection, "SB409", "detail = '4711'")
    assert caught.value.first_message_id == 4711


@pytest.mark.parametrize("text", ['"\\u0000"', "{", '"\\ud800"'])
def test_json_that_cannot_be_stored_is_an_invalid_payload(connection, text):
    with pytest.raises(errors.InvalidArgument) as caught, errors.translated():
        connection.execute("select %s::jsonb", [text])
    assert caught.value.field == "payload"


def test_text_that_cannot_be_stored_is_an_invalid_argument(connection):
    with pytest.raises(errors.InvalidArgument), errors.translated():
        connection.execute("select convert_from('\\x00'::bytea, 'UTF8')")


def test_other_errors_stay_what_they_are(connection):
    with pytest.raises(psycopg.errors.DivisionByZero) as caught, errors.translated():
        connection.execute("select 1 / 0")
    assert errors.translate(caught.value) is caught.value


def refuse(connection, sqlstate, details):
    with errors.translated():
        connection.execute(f"do $$ begin raise exception using errcode = '{sqlstate}', {details}; end $$")
