"""Errors become the same templates in Arrow's columns, one by one in Python, and in the live fingerprint's SQL."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.analysis import normal_errors
from tests.engine import Engine
from tests.queues.dead_letters.test_fingerprint import ALIKE, HOSTILE, UNLIKE
from tests.tiers import examples

PIECES = [
    *(
        "5",
        "17",
        "1e5",
        "2e-3",
        "2026-01-02",
        "T10:00",
        " 10:00:00.5",
        "Z",
        "+01:00",
        "12345678",
        "deadbeef",
        "0x7f",
        "x3",
    ),
    *(
        "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "fe80::1",
        "10.0.0.7",
        "a:b:",
        "ana@acme.eu",
        "https://x.y/z?q",
        "c:\\a\\b",
    ),
    *(
        "/var/in",
        "/a/b/c",
        "./",
        "~",
        "*",
        "-",
        "+",
        "_",
        ".",
        ",",
        ":",
        ";",
        "/",
        "\\",
        "@",
        "%",
        "'",
        '"',
        "`",
        "(",
        "[",
    ),
    *(
        "ms",
        " ms",
        "s",
        "kb",
        "µs",
        " µs",
        "d",
        "th",
        "st",
        "e",
        "f",
        "word",
        "Ä",
        "\u017f",
        "\u212a",
        " ",
        "\t",
        "\v",
        "\u00a0",
        "\n",
    ),
    *("\ue000", "\ue003", "*1", "0"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


def in_columns(given_texts: Sequence[str | None]) -> list[str | None]:
    found: list[str | None] = normal_errors.normal(pa.array(given_texts, pa.string())).to_pylist()
    return found


def one_by_one(column: Sequence[str | None]) -> list[str | None]:
    """Normalize each text by the way of the texts that columns cannot decide."""
    cut = normal_errors._without_addresses(normal_errors._cut(pa.array(column, pa.string())))
    starred = [None if text is None else normal_errors._starred(text) for text in cut.to_pylist()]
    shortened: list[str | None] = normal_errors._shortened(pa.array(starred, pa.string())).to_pylist()
    return shortened


def in_sql(engine: Engine, given_texts: Sequence[str | None]) -> list[str | None]:
    rows = engine.rows(
        "select signalbox._normal_error(t.error) from unnest(%s::text[]) with ordinality t(error, n) order by t.n",
        list(given_texts),
    )
    return [row[0] for row in rows]


def test_a_corpus_is_normalised_alike_everywhere(engine: Engine) -> None:
    corpus: list[str | None] = [text for pair in (*ALIKE.values(), *UNLIKE.values()) for text in pair]
    corpus += [text[:4_000] for text in HOSTILE.values() if "\ud7ff" not in text]
    corpus += [None, "", "x" * 2_001, '"' + "y" * 3_000, 'a "b" ' + "c d " * 600, "1,2, 3;4" * 300, "é" * 2_100]
    corpus += [
        "timeout_5s_retry",
        "5 ms_total of 9",
        "5 ms_a@b.c",
        "./a/17/c",
        "-c:\\a\\b\\c",
        "1e5% 1e5 ms 1E5µs",
        "1234567e-5",
    ]

    expected = in_sql(engine, corpus)

    assert in_columns(corpus) == expected
    assert one_by_one(corpus) == expected


@pytest.mark.property
def test_any_texts_are_normalised_alike_everywhere(engine: Engine) -> None:
    """A column at a time, since each question to the database costs more than its texts."""

    @settings(max_examples=examples(60))
    @given(st.lists(texts, min_size=20, max_size=60))
    @example([one + other for one in PIECES for other in PIECES])
    @example([one + "5" + other for one in PIECES for other in PIECES])
    @example(["1" + one + other for one in PIECES for other in PIECES])
    def same(column: list[str]) -> None:
        expected = in_sql(engine, column)
        assert dict(zip(column, in_columns(column), strict=True)) == dict(zip(column, expected, strict=True))
        assert one_by_one(column[:200]) == expected[:200]

    same()


@pytest.mark.parametrize("count", [0, 1, 5_000])
def test_a_column_keeps_its_length_and_its_nulls(count: int) -> None:
    column = [None if n % 3 == 0 else f"order {n} took {n}ms_" if n % 3 == 1 else f"order {n}" for n in range(count)]

    found = in_columns(column)

    assert [value is None for value in found] == [value is None for value in column]
    assert set(found) <= {None, "order *", "order * took *ms_"}


def test_the_version_is_the_live_one(engine: Engine) -> None:
    assert str(engine.value("select signalbox.fingerprint('', '', '')")).startswith(f"{normal_errors.RULES}:")
