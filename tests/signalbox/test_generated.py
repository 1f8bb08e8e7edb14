"""The asyncio twins are what the generator makes of their modules."""

from __future__ import annotations

import inspect

import pytest

from signalbox.async_verbs import AsyncDatabaseVerbs
from signalbox.verbs import DatabaseVerbs
from tests.signalbox.flavours import public
from tools.generate_async import ROOT, twins


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return twins()


def test_the_committed_twins_are_the_generated_ones(generated: dict[str, str]) -> None:
    stale = [path for path, text in generated.items() if (ROOT / path).read_text() != text]
    assert stale == [], "run `make generate`"


def test_a_twin_says_in_its_first_line_where_it_comes_from(generated: dict[str, str]) -> None:
    for text in generated.values():
        assert text.startswith("# Generated from signalbox/")


def test_the_twin_of_every_verb_is_awaited_and_documented() -> None:
    for name in public(DatabaseVerbs):
        verb, twin = getattr(DatabaseVerbs, name), getattr(AsyncDatabaseVerbs, name)
        assert inspect.iscoroutinefunction(twin), name
        assert twin.__doc__ == verb.__doc__
        assert len(verb.__doc__.split()) >= 4
