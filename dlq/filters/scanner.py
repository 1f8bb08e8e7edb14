"""A cursor over the text of a filter: it reads spaces and quotes, and makes errors with the position of the mistake."""

from __future__ import annotations

import re

MAX_CHARACTERS = 2_000  # a filter travels in URLs

MAX_SHOWN_CHARACTERS = 40

_SPACES = re.compile(r"\s+")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_PLAIN = re.compile(r'[^"\\]+')
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def shown(text: str) -> str:
    """Return typed text as a message shows it, cut if it is long."""
    return f"{text[:MAX_SHOWN_CHARACTERS]}…" if len(text) > MAX_SHOWN_CHARACTERS else text or '""'


class FilterError(ValueError):
    """The filter has a mistake.

    `position` and `length` mark `token` in the text that was parsed, in characters. `message` says what is wrong,
    `expected` what is allowed. For a missing value or bound, the text before it is marked.
    """

    def __init__(self, position: int, length: int, token: str, message: str, expected: str) -> None:
        super().__init__(position, length, token, message, expected)
        self.position = position
        self.length = length
        self.token = token
        self.message = message
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.message} Expected {self.expected}."


class Scanner:
    """Scanner that reads from left to right; `position` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        if len(text) > MAX_CHARACTERS:
            message = f"The filter is {len(text):,} characters long."
            raise self.error(MAX_CHARACTERS, message, f"at most {MAX_CHARACTERS:,}", len(text))
        if unstorable := _UNSTORABLE.search(text):
            message = "The filter has a character that PostgreSQL cannot store."
            raise self.error(unstorable.start(), message, "text without NUL and lone surrogates", unstorable.end())

    @property
    def at_end(self) -> bool:
        """Tell whether the scanner is at the end of the text."""
        return self.position >= len(self.text)

    @property
    def at_term_end(self) -> bool:
        """Tell whether the term ends here: at a space, or at the end of the text."""
        return self.at_end or self.text[self.position].isspace()

    def error(self, start: int, message: str, expected: str, end: int | None = None) -> FilterError:
        """Make an error that marks the text from `start` to `end` (default: the cursor), at least one character."""
        end = max(self.position if end is None else end, start + 1)
        token = self.text[start:end]
        return FilterError(start, len(token), token, message, expected)

    def skip_spaces(self) -> None:
        """Move to the next term."""
        self.match(_SPACES)

    def take(self, literal: str) -> bool:
        """Move over `literal` if it is next."""
        if not self.is_next(literal):
            return False
        self.position += len(literal)
        return True

    def match(self, pattern: re.Pattern[str]) -> str:
        """Move over what the pattern matches here; empty when it does not."""
        found = pattern.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found.group()

    def sees(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether the pattern matches here."""
        return pattern.match(self.text, self.position) is not None

    def is_next(self, literal: str) -> bool:
        """Tell whether `literal` is next: a slash begins a pattern, a double quote quoted text."""
        return self.text.startswith(literal, self.position)

    def quoted(self) -> str:
        """Read quoted text; the cursor is at its opening quote."""
        start = self.position
        self.position += 1
        parts: list[str] = []
        while not self.take('"'):
            parts.append(self.match(_PLAIN) or self._escape(start))
        return "".join(parts)

    def _escape(self, start: int) -> str:
        if self.at_end or self.text[self.position :] == "\\":
            message = "The quotes are not closed."
            raise self.error(start, message, 'a closing "', len(self.text))
        backslash = self.position
        self.position += 2
        character = _ESCAPED.get(self.text[backslash + 1])
        if character is None:
            raise self.error(
                backslash, "The quotes have an unknown escape.", r"\" \\ \n \r or \t; a backslash is written \\"
            )
        return character
