"""The page of a message with bytes: as text where they are text, as hex, and as a download."""

from __future__ import annotations

from tests.console.browsers import Browser
from tests.engine import Engine


def send(engine: Engine, content: bytes, content_type: str) -> str:
    verb = "select signalbox.send_binary(%s, %s, %s)"
    return f"/queues/{engine.queue}/messages/{engine.value(verb, engine.queue, content, content_type)}"


def test_text_is_shown_as_text_and_as_hex(operator: Browser, viewer: Browser, engine: Engine) -> None:
    url = send(engine, b"<script>alert(1)</script>", "text/plain")
    page = operator.see(url)
    assert "<script>alert(1)</script>" in page.text
    assert "<script>alert" not in page.html
    assert "00000000 3c 73 63 72" in page.text
    assert "text/plain" in page.text
    assert "3c 73 63" not in viewer.see(url).text


def test_other_bytes_are_shown_as_hex_and_downloaded_whole(operator: Browser, engine: Engine) -> None:
    content = bytes(range(256)) * 40
    page = operator.see(send(engine, content, "image/png"))
    assert "Only the beginning is shown." in page.text
    assert len(page.html) < 60_000
    answer = operator.get(page.link("Download the bytes"))
    assert answer.content == content
    assert answer["Content-Type"] == "application/octet-stream"
    assert "attachment" in answer["Content-Disposition"]
