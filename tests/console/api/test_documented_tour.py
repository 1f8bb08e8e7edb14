"""The tours in docs/use/http-api.md and docs/use/streams-http.md, taken as they are written."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.console.api.callers import Answer, Caller

PAGES = Path(__file__).parents[3] / "docs" / "use"


def commands(page: str) -> list[list[str]]:
    lines = (PAGES / page).read_text().splitlines()
    return [shlex.split(line) for line in lines if line.startswith(("call $V1", "call -X POST $V1"))]


def run(caller: Caller, words: list[str], known: dict[str, str]) -> Answer:
    path = next(word for word in words if word.startswith("$V1")).replace("$V1", "/v1")
    for name, value in known.items():
        path = path.replace(name, value)
    if "-d" in words:
        return caller.send("POST", path, words[words.index("-d") + 1].encode(), {"content-type": "application/json"})
    return caller.call("POST" if "-X" in words else "GET", path)


def test_every_call_of_the_tour_does_what_it_says(caller: Caller) -> None:
    known: dict[str, str] = {}
    statuses = []
    for words in commands("http-api.md"):
        if ":nack" in " ".join(words) or ":change-visibility" in " ".join(words):
            known["RECEIPT_HANDLE"] = _another_lease(caller)  # the one before is settled
        answer = run(caller, words, known)
        statuses.append(answer.status)
        if "messageId" in (document := answer.document if answer.content else {}):
            known["msg_123"] = document["messageId"]
        if messages := document.get("messages") if isinstance(document.get("messages"), list) else None:
            known["RECEIPT_HANDLE"] = messages[0]["receiptHandle"]

    assert statuses == [201, 202, 200, 204, 200, 200, 204, 204, 200, 200]


def test_every_call_of_the_tour_of_streams_does_what_it_says(caller: Caller) -> None:
    answers = [run(caller, words, {}) for words in commands("streams-http.md")]

    assert [answer.status for answer in answers] == [201, 201, 202, 200, 200, 200, 200, 200]
    assert len(answers[4].document["messages"]) == 3


def _another_lease(caller: Caller) -> str:
    caller.post("/v1/queues/newsletter-send/messages", {"body": "another"})
    received = caller.post("/v1/queues/newsletter-send/messages:receive", {}).document["messages"]
    return str(received[0]["receiptHandle"])
