"""A mistake underlines its token and says what was expected."""

import pytest

from dlq.filters import FilterError, parse

# The filter, the token that is underlined (where it first stands, unless a position is given), what is wrong
# and what is expected.
MISTAKES = [
    # keys
    ("quue:a", "quue", "Unknown key quue:. Did you mean queue:?", "queue: or another key"),
    ("queue:a status:dead", "status", "Did you mean state:?", "state: or another key"),
    ("receive_count:3", "receive_count", "Did you mean attempts:?", "attempts: or another key"),
    ("--queue:a", "-queue", "Did you mean queue:?", "queue: or another key"),
    (
        "psycopg.errors.UniqueViolation:x",
        "psycopg.errors.UniqueViolation",
        "Unknown key psycopg:.",
        "quotes around text",
    ),
    ("http://x", "http", "Unknown key http:.", "quotes around text with a colon"),
    ("12:30", "12", "Unknown key 12:.", "quotes around text"),
    (":x", ":x", "Text without a key has a colon.", "quotes around text with a colon"),
    ("a,b:c", "b:c", "Text without a key has a colon.", "quotes around text with a colon"),
    ("queue.a:x", "queue.a", "queue: does not take a path.", "queue: alone"),
    ("payload:x", "payload", "payload: needs a path after a dot.", "payload.order.status"),
    ("payload.:x", "payload.", "payload: has a path with an empty part.", "a name after each dot"),
    ("payload.a..b:x", "payload.a.", "payload: has a path with an empty part.", "a name after each dot"),
    (
        "payload." + ".".join("abcdefghijklmnopq") + ":x",
        ("q", 40),
        "payload: has a path of more than 16 names.",
        "at most 16",
    ),
    # values
    ("queue:", "queue:", "queue: has no value.", "one, as in queue:orders"),
    ("queue: orders", "queue:", "queue: has no value.", "one, as in queue:orders"),
    ("-payload.a:", "-payload.a:", "payload.a: has no value.", "one, as in payload"),
    ("queue:,a", ",", "queue: has no value before this comma.", "one, as in queue"),
    ("queue:a,,b", (",", 8), "queue: has no value before this comma.", "one, as in queue"),
    ("queue:a, b", ",", "queue: has no value after this comma.", "one, as in queue"),
    ("queue:*", "*", "queue: does not take * alone.", "a value, as in queue:orders"),
    ("*", "*", "Text without a key does not take * alone.", '"*" in quotes'),
    ("state:dea", "dea", "Did you mean dead?", "one of ready, scheduled, waiting, leased"),
    ('reason:"poison"', '"poison"', "reason: does not take poison.", "one of rejected, runtime_error"),
    ("class:>3", ">3", "class: does not take < and >.", "a value, as in class:"),
    ('error:""', '""', "error: has empty quotes.", "some text"),
    ('""', '""', "Text without a key has empty quotes.", "some text"),
    # numbers
    ("attempts:many", "many", "attempts: does not take many.", "a whole number such as 3"),
    ("attempts:-1", "-1", "attempts: does not take -1.", "a whole number"),
    ("attempts:3.5", "3.5", "attempts: does not take 3.5.", "a whole number"),
    ("attempts:\u0663", "\u0663", "attempts: does not take \u0663.", "a whole number"),
    ("attempts:>x", "x", "attempts: does not take x.", "a whole number"),
    ("attempts:>", ">", "attempts: has a comparison or a range without its bound.", "a whole number"),
    ("attempts:3..", "3..", "attempts: has a comparison or a range without its bound.", "a whole number"),
    ("attempts:..3", "..3", "attempts: has a comparison or a range without its bound.", "a whole number"),
    ("attempts:1,5..3", "5..3", "attempts: has a range that ends before it starts.", "3..5"),
    (
        "id:9223372036854775808",
        "9223372036854775808",
        "id: does not take 9223372036854775808.",
        "up to 9223372036854775807",
    ),
    ("priority:40000", "40000", "priority: does not take 40000.", "a whole number from 0 to 32767"),
    ("priority:>9,32768..40000", "32768", "priority: does not take 32768.", "a whole number from 0 to 32767"),
    # durations
    ("age:1h", "1h", "age: needs a bound or a range.", "a bound such as >1h"),
    ("age:>1", "1", "age: does not take 1.", "a duration such as 90s"),
    ("age:>1y", "1y", "age: does not take 1y.", "a duration such as 90s"),
    ("age:>5218w", "5218w", "age: does not take 5218w.", "up to a century"),
    ("age:2h..30m", "2h..30m", "age: has a range that ends before it starts.", "30m..2h"),
    # times
    ("dead:>2h", "2h", "dead: does not take 2h.", "for a duration ask age:, as in age:>2h"),
    ("dead:yesterday", "yesterday", "dead: does not take yesterday.", "a date or time such as 2026-01-31"),
    ("dead:2026-02-30", "2026-02-30", "dead: does not take 2026-02-30.", "a date and time that exist"),
    (
        "dead:2026-01-01T25:00",
        "2026-01-01T25:00",
        "dead: does not take 2026-01-01T25:00.",
        "a date and time that exist",
    ),
    (
        "dead:2026-01-01T10:00+05:99",
        "2026-01-01T10:00+05:99",
        "dead: does not take 2026-01-01T10:00+05:99.",
        "that exist",
    ),
    ("dead:1969-12-31", "1969-12-31", "dead: does not take 1969-12-31.", "a year from 1970 to 2999"),
    (
        "sent:2026-01-02..2026-01-01",
        "2026-01-02..2026-01-01",
        "sent: has a range that ends before it starts.",
        "2026-01-01..2026-01-02",
    ),
    ("failed:2026-01-01 10:00", "10", "Unknown key 10:.", "quotes around text"),
    # documents
    ("payload.a:>x", "x", "payload: does not take x.", "a number such as 5"),
    ('payload.a:>"5"', '"5"', "payload: compares numbers only.", "a number without quotes"),
    ("payload.a:1..x", "x", "payload: does not take x.", "a number such as 5"),
    ("payload.a:>1e1000", "1e1000", "payload: does not take 1e1000.", "a number such as 5"),
    ("attr.a:5..1", "5..1", "attr: has a range that ends before it starts.", "1..5"),
    # quotes
    ('error:"timed out', '"timed out', "The quotes are not closed.", 'a closing "'),
    ('error:"', ('"', 6), "The quotes are not closed.", 'a closing "'),
    ('error:"a\\', '"a\\', "The quotes are not closed.", 'a closing "'),
    ('payload."a:x', '"', "Text without a key has a quote within its value.", "quotes around the whole value"),
    (r'error:"C:\Users"', r"\U", "The quotes have an unknown escape.", r"a backslash is written \\"),
    ('error:"a"b', "b", "error: has text right after the closing quote.", "a space or a comma"),
    ('error:"a":b', ":b", "error: has text right after the closing quote.", "a space or a comma"),
    ('queue:a"b"', '"', "queue: has a quote within its value.", "quotes around the whole value"),
    ("error:'timed out'", "'timed", "error: has the character ' in place of a quote.", "double quotes"),
    (
        "error:\u201ctimed out\u201d",
        "\u201ctimed",
        "error: has the character \u201c in place of a quote.",
        "double quotes",
    ),
    # words of other languages
    ("queue:a OR queue:b", "OR", "OR is not an operator.", "a comma between values"),
    ("a AND b", "AND", "AND is not an operator.", "only a space"),
    ("NOT a", "NOT", "NOT is not an operator.", "a - right before the term"),
    ("-", "-", "This minus has no term after it.", "a term right after it"),
    ("a - b", "-", "This minus has no term after it.", "a term right after it"),
    # bounds
    ("a\0b", "\0", "a character that PostgreSQL cannot store", "without NUL"),
    ("a \ud800", "\ud800", "a character that PostgreSQL cannot store", "lone surrogates"),
    ("a " * 50 + "b", "b", "more than 50 terms", "at most 50"),
    ("id:" + ",".join(["7"] * 100) + ",8", "8", "id: has more than 100 values.", "at most 100"),
    ("a" * 2_000 + "bc", "bc", "2,002 characters long", "at most 2,000"),
]


@pytest.mark.parametrize(("text", "token", "message", "expected"), MISTAKES)
def test_a_mistake_is_underlined_and_explained(text, token, message, expected):
    token, position = token if isinstance(token, tuple) else (token, text.index(token))
    with pytest.raises(FilterError) as caught:
        parse(text)
    mistake = caught.value
    assert (mistake.position, mistake.token, mistake.length) == (position, token, len(token))
    assert message in mistake.message
    assert expected in mistake.expected


def test_the_first_of_several_mistakes_is_reported():
    with pytest.raises(FilterError) as caught:
        parse("queue:a attempts:x age:1h")
    assert caught.value.token == "x"


def test_a_mistake_reads_as_two_sentences():
    with pytest.raises(FilterError) as caught:
        parse("attempts:x")
    assert str(caught.value) == "attempts: does not take x. Expected a whole number such as 3."


def test_the_canonical_text_keeps_within_the_bounds_too():
    words = " ".join(["a"] + ["x" * 200] * 9 + ["y" * 180])
    assert len(words) < 2_000
    with pytest.raises(FilterError) as caught:
        parse(words)
    assert "Written out in full" in caught.value.message
    assert caught.value.token == "y" * 180
