"""The generated pages are what the code gives: `make docs` leaves no difference."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from docs.build import markdown, pages, rooms, wrap
from docs.build.reference import commands, configuration, sql_functions


def test_make_docs_leaves_no_difference() -> None:
    assert [str(path.relative_to(pages.ROOT)) for path in pages.outdated()] == []


def test_a_changed_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.md"
    path.write_text("another text")
    monkeypatch.setattr(pages, "_wanted", lambda: {path: "the text", tmp_path / "gone.md": None})

    assert pages.outdated() == [path, tmp_path / "gone.md"]


def test_a_part_of_a_page_is_replaced() -> None:
    text = "before\n<!-- generated: list -->\nold\n<!-- end -->\nafter\n"

    found = pages.BLOCK.sub(lambda block: f"{block[1]}new {block[2]}\n{block[3]}", text)

    assert found == "before\n<!-- generated: list -->\nnew list\n<!-- end -->\nafter\n"


def test_a_page_that_is_mentioned_becomes_a_link() -> None:
    assert (
        markdown.linked("See docs/use/client.md.", "reference/sql") == "See [The Python client](../../use/client.md)."
    )
    assert (
        markdown.linked("(docs/run/logins.md#logins)", "reference")
        == "([Logins, sessions and second factor](../run/logins.md#logins))"
    )


def test_a_decision_that_is_mentioned_is_linked_by_its_number() -> None:
    text = markdown.linked("docs/decisions/0003-the-claim-floor.md", "reference")

    assert text == "[decision 3](../decisions/0003-the-claim-floor.md)"


def test_a_range_of_choices_is_written_by_its_ends() -> None:
    days = argparse.ArgumentParser().add_argument("--days", type=int, choices=range(1, 367))

    assert commands._term(days) == "`--days {1..366}`"


def test_a_table_escapes_bars() -> None:
    assert markdown.table(("a", "b"), [("x|y", "")]) == "| a | b |\n|---|---|\n| x\\|y | |"


def test_every_function_shows_its_arguments_and_its_answer() -> None:
    (send,) = [function for noun in sql_functions._nouns().values() for function in noun if function.name == "send"]

    assert "payload jsonb," in send.signature
    assert send.signature.endswith("returns bigint")
    assert send.text.startswith("Send one message, in the caller")


def test_every_part_of_a_command_is_on_its_page() -> None:
    page = dict(commands.pages())["docs/reference/commands/redrive.md"]

    assert "## redrive plan" in page
    assert "| `--canary N` |" in page


def test_every_variable_has_a_default_and_a_meaning() -> None:
    variables = {variable.name: variable for variable in configuration.variables()}

    assert variables["PORT"].default == "`8000`"
    assert variables["PORT"].allowed == "1 to 65535"
    assert variables["SECRET_KEY"].default.startswith("generated once")
    assert [name for name, variable in variables.items() if not variable.text] == []


def test_an_import_that_leads_upward_is_not_drawn() -> None:
    with pytest.raises(ValueError, match="downward only"):
        rooms._picture([("queues", "console")])


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a\nb\n", "a b\n"),
        ("- a\n  b\n- c\n", "- a b\n- c\n"),
        ("| a |\n|---|\n\n```\na\nb\n```\n", "| a |\n|---|\n\n```\na\nb\n```\n"),
        ("# A\na\n", "# A\na\n"),
        (f"{'x' * 98} `a b c`\n", f"{'x' * 98}\n`a b c`\n"),
        (f"{'x' * 98} 1. c\n", f"{'x' * 98} 1.\nc\n"),
    ],
    ids=["paragraph", "list", "table and code", "heading", "code in a line", "no number begins a line"],
)
def test_prose_is_wrapped_and_nothing_else(text: str, filled: str) -> None:
    assert wrap.wrapped(text) == filled
