"""A test client that reads pages as a person does: text, links, buttons, what is disabled and why."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from console.access.reauthentication import CHECKED_AT
from console.access.sessions import SessionStore
from console.overview import standings

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
UNREAD = {"script", "style", "title", "template"}


@dataclass
class Element:
    """One element: its tag, its attributes and all the text within."""

    tag: str
    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list, repr=False)
    """The texts of the whole page, of which those from `first` to `last` are in the element."""
    first: int = 0
    last: int | None = None

    @property
    def text(self) -> str:
        return readable("".join(self.pieces[self.first : self.last]))


class Page(HTMLParser):
    """Answer of the console, parsed when a test first looks at it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self._elements: list[Element] = []
        self._open: list[Element] = []
        self._pieces: list[str] = []
        self._read: list[str] = []

    @cached_property
    def elements(self) -> list[Element]:
        self.feed(self.html)
        self.close()
        return self._elements

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = self._element(tag, attrs)
        if tag == "wbr":
            self._join()
        if tag not in VOID:
            element.last = None
            self._open.append(element)

    def _element(self, tag: str, attrs: list[tuple[str, str | None]]) -> Element:
        """Add an element without any text."""
        here = len(self._pieces)
        element = Element(tag, {name: value or "" for name, value in attrs}, self._pieces, here, here)
        self._elements.append(element)
        return element

    def _join(self) -> None:
        """Read what stands before and after a possible line break as one word."""
        for pieces in (self._pieces, self._read):
            if pieces:
                pieces[-1] = pieces[-1].removesuffix(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._element(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            element = self._open.pop()
            element.last = len(self._pieces)
            if element.tag == tag:
                break

    def handle_data(self, data: str) -> None:
        if any(element.tag in UNREAD for element in self._open):
            self._pieces.append(data)
        else:
            self._pieces.append(data + " ")
            self._read.append(data + " ")

    @property
    def text(self) -> str:
        """All text of the page in one line."""
        _ = self.elements  # parses
        return readable("".join(self._read))

    @property
    def title(self) -> str:
        return self.all("title")[0].text

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements of this tag with these attributes; class_ asks for one class among others."""
        return [element for element in self.elements if element.tag == tag and _has(element, attributes)]

    def one(self, tag: str, **attributes: str) -> Element:
        (element,) = self.all(tag, **attributes)
        return element

    def link(self, text: str) -> str:
        """Address of the link whose text begins with these words."""
        return next(one.attributes["href"] for one in self.all("a") if one.text.startswith(text))

    def rows(self) -> list[str]:
        """The rows of all tables, as text, without their heads."""
        return [row.text for row in self.all("tr")[1:]]

    def fields(self) -> dict[str, str]:
        """Fields that a form would send: inputs, hidden inputs and selected options."""
        return self._chosen() | {
            one.attributes["name"]: one.attributes.get("value", "")
            for one in self.all("input")
            if "name" in one.attributes and _is_sent(one)
        }

    def _chosen(self) -> dict[str, str]:
        """The option chosen of each choice."""
        chosen, name = {}, ""
        for element in self.elements:
            if element.tag == "select":
                name = element.attributes["name"]
            elif element.tag == "option" and ("selected" in element.attributes or name not in chosen):
                chosen[name] = element.attributes.get("value", "")
        return chosen


def _is_sent(field: Element) -> bool:
    kind = field.attributes.get("type")
    return kind != "checkbox" and (kind != "radio" or "checked" in field.attributes)


def readable(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("\u00a0", " ")).strip()


def _has(element: Element, attributes: dict[str, str]) -> bool:
    for name, value in attributes.items():
        key = name.rstrip("_").replace("_", "-")
        have = element.attributes.get(key)
        if have is None or (value not in have.split() if key == "class" else value != have):
            return False
    return True


class Browser(Client):
    """Browser of one person."""

    def __init__(self, role: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.role = role

    @property
    def name(self) -> str:
        return f"test-{self.role.replace(' ', '-')}"

    def resume(self, person: User) -> None:
        """Have a session as after `force_login`, in a fifth of its statements; the rest of a login is left out."""
        session = SessionStore()
        session[SESSION_KEY], session[HASH_SESSION_KEY] = str(person.pk), person.get_session_auth_hash()
        session[BACKEND_SESSION_KEY] = f"{ModelBackend.__module__}.{ModelBackend.__qualname__}"
        session[CHECKED_AT] = timezone.now().timestamp()
        session.create()
        self.cookies[settings.SESSION_COOKIE_NAME] = session.session_key

    def see(self, path: str, status: int = 200, **parameters: Any) -> Page:
        """Open a page of the console."""
        standings.forget()
        return self._read(self.get(path, parameters), status)

    def fetch(self, path: str, **parameters: Any) -> Page:
        """Ask as htmx does."""
        standings.forget()
        return self._read(self.get(path, parameters, headers={"HX-Request": "true"}), 200)

    def submit(self, path: str, status: int = 302, **values: Any) -> Page:
        """Send a form; after a redirect, the page it leads to."""
        answer = self.post(path, values)
        standings.forget()
        assert answer.status_code == status, answer.content.decode()[:2000]
        if status == 302:
            return self._read(self.get(answer["Location"]), 200)
        return Page(answer.content.decode())

    def change(self, path: str, **values: str) -> Page:
        """Change settings as a person does: edit the form, read the review, and confirm it."""
        return self.confirm(path, self.submit(path, status=200, **{**self.see(path).fields(), **values}))

    def confirm(self, path: str, reviewed: Page, status: int = 302, **values: str) -> Page:
        """Confirm reviewed changes; `values` are the choices in conflicts."""
        digest = reviewed.one("button", name="reviewed").attributes["value"]
        checked = {one.attributes["name"]: "on" for one in reviewed.all("input", type="checkbox", checked="")}
        return self.submit(path, status=status, **{**reviewed.fields(), **checked, "reviewed": digest, **values})

    def _read(self, answer: HttpResponse, status: int) -> Page:
        assert answer.status_code == status, f"{answer.status_code}: {answer.content.decode()[:2000]}"
        return Page(answer.content.decode())
