"""No page shows a word that the glossary replaces: rendered text is checked like templates and documents."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.console.browsers import Browser, Page
from tests.console.security.scenes import Scene, routes
from tests.house.english import allowances, check_piece, spaced
from tests.house.prose import Piece

# The stream of live hints never ends; the reference of the API lists the names of its fields.
NOT_READ = {"live", "reference"}
CODE = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)  # the words of programs


def test_no_page_shows_a_forbidden_word(scene_of: Callable[[str], Scene], sign_in: Callable[[str], Browser]) -> None:
    scene, browser = scene_of("plain"), sign_in("superuser")
    browser.raise_request_exception = False
    allowed = re.compile("|".join(map(spaced, allowances())), re.IGNORECASE)
    shown: dict[str, list[str]] = {}

    for route in (one for one in routes() if one.name not in NOT_READ):
        answer = browser.get(scene.path(route))
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            text = Page(CODE.sub(" ", answer.content.decode())).text
            mistakes = [one.message for one in check_piece("templates/page.html", Piece(1, "text", text), allowed)]
            shown |= {route.name: mistakes} if mistakes else {}

    assert not shown, "\n".join(f"{page}: {words}" for page, words in shown.items())
