"""Fingerprints: failures are equal by cause, whatever values the message has."""

from __future__ import annotations

import pytest

from tests.engine import Engine
from tests.queues.dead_letters.stacks import PYTHON, STACKS, WITHOUT_A_FRAME

ALIKE = {
    "numbers": ("order 17 has 3 items", "order 18 has 4,000 items"),
    "decimals": ("took 1.5", "took 2e10"),
    "durations": ("POST timed out after 5001 ms", "POST timed out after 30s"),
    "sizes": ("body of 1 byte", "body of 12 KB"),
    "uuids": ("no 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "no f47ac10b-58cc-4372-a567-0e02b2c3d479"),
    "hexadecimal": ("commit deadbeefcafe is gone", "commit 0123abcd4567 is gone"),
    "addresses of memory": ("<Order object at 0x7f3a1c>", "<Order object at 0x55d0ff20>"),
    "quoted values": ('unknown key "a b"', 'unknown key "c"'),
    "values in apostrophes": ("couldn't read 'a'", "couldn't read 'b c'"),
    "values in backticks": ("no column `a`", "no column `b`"),
    "mail": ("no account for ana@acme.eu", "no account for b.c+d@mail.example.org"),
    "IPv4": ("refused by 10.0.0.7:5432", "refused by 192.168.1.200:6432"),
    "IPv6": ("refused by fe80::1", "refused by 2001:db8::ff00:42:8329"),
    "moments": ("since 2026-01-02T03:04:05.678Z", "since 2025-12-31 23:59:59+01:00"),
    "ids of letters and digits": ("charge ch_3N8fk2Lx failed", "charge ch_9Q2zz81Ab failed"),
    "paths": ("cannot open /var/data/in/17.csv", "cannot open /srv/out/b.csv"),
    "what follows a host": ("GET https://api.acme.eu/v1/a?b=1", "GET https://api.acme.eu/v2/c"),
    "lists": ("missing [1, 2, 3]", "missing [4]"),
    "space": ("two\n  lines", "two lines"),
}
UNLIKE = {
    "words": ("POST timed out", "GET timed out"),
    "hosts": ("GET https://api.acme.eu/a", "GET https://api.other.eu/a"),
    "names of errors": ("std::bad_alloc", "std::logic_error"),
}
HOSTILE = {
    "megabytes of one character": "a" * 3_000_000,
    "megabytes of digits": "1" * 3_000_000,
    "an open quotation": '"' + "a1" * 200_000,
    "slashes": "/a" * 500_000,
    "colons": "a:" * 500_000,
    "at signs": "a@" * 500_000,
    "stars": "* " * 500_000,
    "brackets": "(" * 500_000,
    "frames of Python": '  File "a.py", line 1, in f\n' * 40_000,
    "frames of Java": "\tat a.b.c(D.java:1)\n" * 40_000,
    "frames of Go": "a.b(\n" * 200_000,
    "a line without end": "at " + "x(" * 400_000,
    "what no alphabet has": "\x01\ud7ff\U0010ffff\\(?:[" * 1_000,
}


def fingerprint(engine: Engine, *failure: str | None) -> str:
    return str(engine.value("select signalbox.fingerprint(%s, %s, %s, %s)", *failure))


@pytest.mark.parametrize("texts", ALIKE.values(), ids=ALIKE)
def test_what_differs_from_message_to_message_is_taken_out(engine: Engine, texts: tuple[str, str]) -> None:
    one, other = (fingerprint(engine, "runtime_error", "E", text, None) for text in texts)

    assert one == other
    assert one != fingerprint(engine, "runtime_error", "E", "else", None)


@pytest.mark.parametrize("texts", UNLIKE.values(), ids=UNLIKE)
def test_what_tells_causes_apart_stays(engine: Engine, texts: tuple[str, str]) -> None:
    one, other = (fingerprint(engine, "runtime_error", "E", text, None) for text in texts)

    assert one != other


@pytest.mark.parametrize(("stack", "frame"), STACKS.values(), ids=STACKS)
def test_the_topmost_frame_of_the_application_is_found(engine: Engine, stack: str, frame: str) -> None:
    assert engine.value("select signalbox._top_frame(%s)", stack.format(line=42)) == frame
    assert engine.value("select signalbox._top_frame(%s)", stack.format(line=1041)) == frame


@pytest.mark.parametrize("details", WITHOUT_A_FRAME.values(), ids=WITHOUT_A_FRAME)
def test_without_a_frame_of_the_application_there_is_none(engine: Engine, details: str | None) -> None:
    assert engine.value("select signalbox._top_frame(%s)", details) is None


def test_other_lines_are_the_same_cause_and_another_frame_is_another(engine: Engine) -> None:
    one = fingerprint(engine, "runtime_error", "ReadTimeout", "after 5 s", PYTHON.format(line=7))

    assert one == fingerprint(engine, "runtime_error", "ReadTimeout", "after 9 s", PYTHON.format(line=99))
    moved = PYTHON.format(line=7).replace("in charge", "in refund")
    assert one != fingerprint(engine, "runtime_error", "ReadTimeout", "after 5 s", moved)
    assert one != fingerprint(engine, "runtime_error", "ReadTimeout", "after 5 s", None)


def test_reason_and_class_are_part_of_it(engine: Engine) -> None:
    ones = {
        fingerprint(engine, *failure)
        for failure in [
            ("rejected", "A", "x", None),
            ("runtime_error", "A", "x", None),
            ("rejected", None, "A x", None),
        ]
    }

    assert len(ones) == 3
    assert all(one.startswith("v2:") and len(one) == 19 for one in ones)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_answered_in_bounded_time(engine: Engine, text: str) -> None:
    engine.connection.execute("set statement_timeout = '60s'")  # unbounded work would take hours
    try:
        assert fingerprint(engine, "runtime_error", text[:50_000], text, text).startswith("v2:")
    finally:
        engine.connection.execute("reset statement_timeout")


def test_a_failure_and_the_death_it_leads_to_have_one_fingerprint(make_engine, engine: Engine) -> None:  # type: ignore[no-untyped-def]
    queue = make_engine(max_receives=2, backoff_base_seconds=0, jitter=0)
    queue.send(1)
    for number in (1, 2):
        failure = {"error_class": "E", "error": f"no {number}", "details": PYTHON.format(line=number)}
        queue.nack(queue.receive_one()[1], delay_seconds=0, **failure)

    rows = queue.rows(
        "select fingerprint from signalbox.failure where queue_id = %(id)s"
        " union all select fingerprint from signalbox.dead_letter where source_queue_id = %(id)s".replace(
            "%(id)s", str(queue.queue_id)
        )
    )
    assert len(rows) == 3
    assert len(set(rows)) == 1
