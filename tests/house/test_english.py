"""Tests of the checker of English: what it finds, what it overlooks, and how the list of unclean files shrinks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house import english
from tests.house.english import Finding
from tests.house.prose import Piece, html_prose, markdown_prose, prose, python_prose, script_prose, sql_prose

NOTHING_ALLOWED = re.compile("(?!)")


def mistakes(pieces: list[Piece], path: str = "console/example.py") -> list[str]:
    return [found.message for piece in pieces for found in english.check_piece(path, piece, NOTHING_ALLOWED)]


@pytest.mark.parametrize(
    "text",
    [
        "The same, elsewhere and later.",
        "It goes, with what is in it.",
        "Those of this process for the database.",
        "What the pipeline's bench found.",
        "Whether a queue is paused now.",
        "Of these queues, by queue id.",
        "No longer a member of the group.",
        "One of the dead letters found.",
        "Started, answering, and stopped at the end.",
        "Taken in a thread by the server.",
        "Sends the selected dead letters again.",
        "Every round.",
    ],
)
def test_bad_docstrings_are_found(text: str) -> None:
    assert len(mistakes([Piece(1, "docstring", text)])) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Return the queues that the person may see.",
        "Saved filters of one person.",
        "Names of queues within reach.",
        "One message on its own page.",
        "`python -m signalbox`: entry point without an installed script.",
        "Letters, digits and dots of a queue's name.",
    ],
)
def test_good_docstrings_pass(text: str) -> None:
    assert mistakes([Piece(1, "docstring", text)]) == []


def test_every_kind_of_python_prose_is_read_once() -> None:
    source = (
        '"""Module of tests here."""\n# a comment\n# goes on\ndef readQueue() -> str:\n    return f"{1} put away"\n'
    )
    assert list(python_prose(source)) == [
        Piece(1, "docstring", "Module of tests here."),
        Piece(4, "name", "read queue"),
        Piece(5, "text", "x put away"),
        Piece(2, "comment", "a comment\ngoes on"),
    ]


def test_machine_text_is_no_prose() -> None:
    assert list(python_prose('x = "select letter from lane"\ny = "letter"\n')) == []


def test_a_phrase_is_found_across_lines_and_where_it_starts() -> None:
    [finding] = english.check_piece("queues/a.py", Piece(7, "comment", "first\nwhat became\nof this"), NOTHING_ALLOWED)
    assert finding == Finding("queues/a.py", 8, "'what became of': outcome")


def test_code_inside_prose_is_overlooked() -> None:
    assert mistakes([Piece(1, "comment", "the column `letter` and ``lane``")]) == []


def test_comments_and_refusals_of_sql_are_read() -> None:
    script = (
        "-- A lane waits.\nselect 1; -- told\nraise exception 'nobody waits for %';\nexecute 'select letter from a';\n"
    )
    pieces = list(sql_prose(script))
    assert pieces == [Piece(1, "comment", " A lane waits.\n told"), Piece(3, "text", "nobody waits for %")]


def test_texts_of_templates_are_read() -> None:
    page = '{# nobody #}\n<p title="told so" class="rail">{% url "nobody" %} {% include "a" with x="put by" %}</p>anew'
    found = mistakes(list(html_prose(page)), "templates/a.html")
    assert sorted(message.split(":")[0] for message in found) == ["'anew'", "'nobody'", "'told'"]


def test_styles_are_read_for_comments_only() -> None:
    assert [piece.text for piece in script_prose(".a { border-radius: 2px } /* rail */")] == [" rail "]


def test_code_in_documents_is_overlooked() -> None:
    document = "Text\n\n```sql\nselect letter\n```\n\nA `lane` and [a page](nobody.md) told.\n"
    assert mistakes(list(markdown_prose(document)), "docs/a.md") == [
        "'told': say which: reported, notified, configured, distinguished"
    ]


def test_only_running_text_of_documents_has_a_longest_line() -> None:
    long = "x " * 60
    document = f"{long}\n| {long} |\n[a link]({long})\n```\n{long}\n```\n"
    assert [finding.line for finding in english.check_lines("docs/a.md", document)] == [1]


def test_engine_words_stay_in_the_engine() -> None:
    piece = Piece(1, "comment", "the lane of the group")
    assert mistakes([piece], "queues/sql/a.sql") == []
    assert mistakes([piece], "console/a.py") == ["'lane': message group"]
    assert mistakes([piece._replace(kind="text")], "queues/sql/a.sql") == ["'lane': message group"]


def test_an_allowed_phrase_is_overlooked_and_has_a_reason() -> None:
    allowed = re.compile("|".join(map(english.spaced, english.allowances())), re.IGNORECASE)
    assert list(english.check_piece("console/a.py", Piece(1, "comment", "a PostgreSQL\ncluster"), allowed)) == []
    lines = [line for line in english.ALLOWED.read_text().splitlines() if not line.startswith("#")]
    assert all(line.partition(" | ")[2] for line in lines)


def test_the_list_of_unclean_files_only_shrinks() -> None:
    findings = [Finding("a.py", 1, "x"), Finding("b.py", 2, "y")]
    assert english.judge(findings, {"b.py", "c.py"}) == ["a.py:1: x", "c.py: is clean or gone; run --write"]


def test_the_checker_reads_all_files_but_its_own_words() -> None:
    paths = english.files(["tests/house", "Makefile"])
    assert Path(english.__file__).with_name("prose.py") in paths
    assert Path(english.__file__) not in paths
    assert list(prose(english.ROOT / "Makefile"))
