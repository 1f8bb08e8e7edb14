"""A mistake in a filter, told so that a page can underline it and a person can mend it."""

from __future__ import annotations


class FilterError(ValueError):
    """The filter holds a mistake.

    `position` and `length` count characters of the text that was parsed and mark `token`; `message` says
    what is wrong and `expected` what would be right. A missing end is marked at what it should follow, so
    that there is always something to underline.
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
