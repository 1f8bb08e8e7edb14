"""The language's page for users says what the code does."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dlq.filters import KEYS, MAX_CHARACTERS, FilterError, Target, parse
from dlq.filters.grammar import MAX_PATH_SEGMENTS, MAX_PATTERNS, MAX_TERMS
from dlq.filters.keys import REASONS, STATE_WORDS
from dlq.filters.values import MAX_PATTERN_CHARACTERS, MAX_VALUES

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "operate" / "filters.md").read_text() + (DOCS / "reference" / "filter-fields.md").read_text()
NOW = datetime(2026, 1, 10, tzinfo=UTC)
EXAMPLES = [line for block in re.findall(r"^```filter\n(.*?)^```", PAGE, re.S | re.M) for line in block.splitlines()]
KEY_ROWS = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| `", PAGE, re.M))
_SECTION = PAGE.partition("\n## Mistakes\n")[2].partition("\n## ")[0]
MISTAKES = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", _SECTION, re.M)
PLACES = {
    "all": set(Target),
    "all but the log": set(Target) - {Target.MESSAGE},
    "dead letters": {Target.DEAD_LETTER},
    "dead letters, in flight, completed": {Target.DEAD_LETTER, Target.LEASE, Target.SETTLED},
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_compiles(example):
    assert parse(example).compile(Target.DEAD_LETTER, NOW).sql != "true"


def test_examples_and_mistakes_are_found_on_the_page():
    assert len(EXAMPLES) > 15
    assert len(MISTAKES) == 8


def test_every_key_is_described_with_its_example_and_its_places():
    assert set(KEY_ROWS) == set(KEYS)
    for name, key in KEYS.items():
        assert f"`{key.example}` |" in PAGE
        assert PLACES[KEY_ROWS[name]] == set(key.targets), name


@pytest.mark.parametrize("word", [*STATE_WORDS, *REASONS])
def test_every_word_is_described(word):
    assert f"`{word}`" in PAGE


@pytest.mark.parametrize("written", re.findall(r"`((?:payload|attr|age|dead|group|-class)[.:][^`]+)`", PAGE))
def test_every_documented_term_parses_or_is_a_listed_mistake(written):
    if written in {"age:1h", "dead:>2h", "payload.path:/orders/42"}:
        with pytest.raises(FilterError):
            parse(written)
    else:
        assert str(parse(written))


@pytest.mark.parametrize(("written", "answer"), MISTAKES)
def test_mistakes_are_answered_as_the_page_says(written, answer):
    with pytest.raises(FilterError) as caught:
        parse(written)
    assert answer in str(caught.value)


def test_the_bounds_are_those_of_the_code():
    text = " ".join(PAGE.split())
    assert f"at most {MAX_CHARACTERS:,} characters and {MAX_TERMS} terms, a term at most {MAX_VALUES} values" in text
    assert f"a path of up to {MAX_PATH_SEGMENTS} names" in text
    assert f"at most {MAX_PATTERNS} patterns, each of up to {MAX_PATTERN_CHARACTERS} characters" in text
