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
    ("http://x", "http", "Unknown key http:.", "quotes around text that holds a colon"),
    ("12:30", "12", "Unknown key 12:.", "quotes around text"),
    (":x", ":x", "Words without a key hold no colon.", "quotes around"),
    ("a,b:c", "b:c", "Words without a key hold no colon.", "quotes around"),
    ("queue.a:x", "queue.a", "queue: takes no path.", "queue: alone"),
    ("payload:x", "payload", "payload: needs a path.", "payload.order.status"),
    ("payload.:x", "payload.", "The path has an empty segment.", "a name after each dot"),
    ("payload.a..b:x", "payload.a.", "The path has an empty segment.", "a name after each dot"),
    ("payload." + ".".join("abcdefghijklmnopq") + ":x", ("q", 40), "more than 16 segments", "at most 16"),
    # values
    ("queue:", "queue:", "queue: has no value.", "one, as in queue:orders"),
    ("queue: orders", "queue:", "queue: has no value.", "one, as in queue:orders"),
    ("-payload.a:", "-payload.a:", "payload.a: has no value.", "one, as in payload"),
    ("queue:,a", ",", "A value is missing before this comma.", "one, as in queue"),
    ("queue:a,,b", (",", 8), "A value is missing before this comma.", "one, as in queue"),
    ("queue:a, b", ",", "A value is missing after this comma.", "one, as in queue"),
    ("queue:*", "*", "no condition here", "a value, as in queue:orders"),
    ("*", "*", "no condition here", '"*" in quotes'),
    ("state:dea", "dea", "Did you mean dead?", "one of ready, scheduled, waiting, leased"),
    ('reason:"poison"', '"poison"', "reason: has no value poison.", "one of rejected, runtime_error"),
    ("class:>3", ">3", "class: does not compare.", "quotes around text that starts with"),
    ('error:""', '""', "Empty text is within every text.", "some text"),
    ('""', '""', "Empty text is within every text.", "some text"),
    # numbers
    ("attempts:many", "many", "attempts: cannot read this.", "a whole number such as 3"),
    ("attempts:-1", "-1", "attempts: cannot read this.", "a whole number"),
    ("attempts:3.5", "3.5", "attempts: cannot read this.", "a whole number"),
    ("attempts:\u0663", "\u0663", "attempts: cannot read this.", "a whole number"),
    ("attempts:>x", "x", "attempts: cannot read this.", "a whole number"),
    ("attempts:>", ">", "attempts: a bound is missing.", "a whole number"),
    ("attempts:3..", "3..", "attempts: a bound is missing.", "a whole number"),
    ("attempts:..3", "..3", "attempts: a bound is missing.", "a whole number"),
    ("attempts:1,5..3", "5..3", "The range ends before it starts.", "the lower end first"),
    ("id:9223372036854775808", "9223372036854775808", "id: cannot read this.", "up to 9223372036854775807"),
    ("priority:40000", "40000", "priority: cannot read this.", "a whole number from 0 to 32767"),
    ("priority:>9,32768..40000", "32768", "priority: cannot read this.", "a whole number from 0 to 32767"),
    # durations
    ("age:1h", "1h", "age: compares durations.", "a bound such as >1h"),
    ("age:>1", "1", "age: cannot read this.", "a duration such as 90s"),
    ("age:>1y", "1y", "age: cannot read this.", "a duration such as 90s"),
    ("age:>5218w", "5218w", "age: cannot read this.", "up to a century"),
    ("age:2h..30m", "2h..30m", "The range ends before it starts.", "the lower end first"),
    # times
    ("dead:>2h", "2h", "dead: cannot read this.", "for a duration ask age:, as in age:>2h"),
    ("dead:yesterday", "yesterday", "dead: cannot read this.", "a date or time such as 2026-01-31"),
    ("dead:2026-02-30", "2026-02-30", "dead: cannot read this.", "a date and time that exist"),
    ("dead:2026-01-01T25:00", "2026-01-01T25:00", "dead: cannot read this.", "a date and time that exist"),
    ("dead:2026-01-01T10:00+05:99", "2026-01-01T10:00+05:99", "dead: cannot read this.", "that exist"),
    ("dead:1969-12-31", "1969-12-31", "dead: cannot read this.", "a year from 1970 to 2999"),
    ("sent:2026-01-02..2026-01-01", "2026-01-02..2026-01-01", "ends before it starts", "the lower end first"),
    ("failed:2026-01-01 10:00", "10", "Unknown key 10:.", "quotes around text"),
    # documents
    ("payload.a:>x", "x", "payload: cannot read this.", "a number such as 5"),
    ('payload.a:>"5"', '"5"', "Only numbers compare here.", "a number without quotes"),
    ("payload.a:1..x", "x", "payload: cannot read this.", "a number such as 5"),
    ("payload.a:>1e1000", "1e1000", "payload: cannot read this.", "a number such as 5"),
    ("attr.a:5..1", "5..1", "The range ends before it starts.", "the lower end first"),
    # quotes
    ('error:"timed out', '"timed out', "The quotes are not closed.", 'a closing "'),
    ('error:"', ('"', 6), "The quotes are not closed.", 'a closing "'),
    ('error:"a\\', '"a\\', "The quotes are not closed.", 'a closing "'),
    ('payload."a:x', '"', "A quote opens within a value.", "quotes around the whole value"),
    (r'error:"C:\Users"', r"\U", "This is no escape.", r"a backslash is written \\"),
    ('error:"a"b', "b", "Text follows the closing quote.", "a space or a comma"),
    ('error:"a":b', ":b", "Text follows the closing quote.", "a space or a comma"),
    ('queue:a"b"', '"', "A quote opens within a value.", "quotes around the whole value"),
    ("error:'timed out'", "'timed", "The character ' does not quote.", "double quotes"),
    ("error:\u201ctimed out\u201d", "\u201ctimed", "The character \u201c does not quote.", "double quotes"),
    # words of other languages
    ("queue:a OR queue:b", "OR", "OR is no part of the language.", "a comma between values"),
    ("a AND b", "AND", "AND is no part of the language.", "only a space"),
    ("NOT a", "NOT", "NOT is no part of the language.", "a - right before the term"),
    ("-", "-", "This minus negates nothing.", "a term right after it"),
    ("a - b", "-", "This minus negates nothing.", "a term right after it"),
    # bounds
    ("a\0b", "\0", "a character that PostgreSQL cannot store", "without NUL"),
    ("a \ud800", "\ud800", "a character that PostgreSQL cannot store", "lone surrogates"),
    ("a " * 50 + "b", "b", "more than 50 terms", "at most 50"),
    ("id:" + ",".join(["7"] * 100) + ",8", "8", "more than 100 values", "at most 100"),
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
    assert str(caught.value) == "attempts: cannot read this. Expected a whole number such as 3."


def test_the_canonical_text_keeps_within_the_bounds_too():
    words = " ".join(["a"] + ["x" * 200] * 9 + ["y" * 180])
    assert len(words) < 2_000
    with pytest.raises(FilterError) as caught:
        parse(words)
    assert "Written out in full" in caught.value.message
    assert caught.value.token == "y" * 180
