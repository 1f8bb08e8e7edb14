"""Batches: the checks of their entries' ids, and one result for each entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from console.api.sqs.errors import SqsError

MAX_ENTRIES = 10

_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")


def checked(entries: list[dict[str, Any]], entry_name: str) -> list[dict[str, Any]]:
    """Check the number and the ids of a batch's entries. Raises `SqsError`, which refuses the whole batch."""
    if not entries:
        raise SqsError("EmptyBatchRequest", entry=entry_name)
    if len(entries) > MAX_ENTRIES:
        raise SqsError("TooManyEntriesInBatchRequest", count=len(entries))
    seen: set[str] = set()
    for entry in entries:
        if not _ID.fullmatch(entry["Id"]):
            raise SqsError("InvalidBatchEntryId")
        if entry["Id"] in seen:
            raise SqsError("BatchEntryIdsNotDistinct", id=entry["Id"])
        seen.add(entry["Id"])
    return entries


def results(outcomes: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | SqsError]]) -> dict[str, Any]:
    """Return the answer of a batch from each entry and its result or error. As with SQS, an empty list is left out."""
    answer: dict[str, list[dict[str, Any]]] = {"Successful": [], "Failed": []}
    for entry, outcome in outcomes:
        if isinstance(outcome, SqsError):
            answer["Failed"].append(_failed(entry["Id"], outcome))
        else:
            answer["Successful"].append({"Id": entry["Id"], **outcome})
    return {name: found for name, found in answer.items() if found}


def _failed(entry_id: str, error: SqsError) -> dict[str, Any]:
    kind = error.kind
    return {"Id": entry_id, "SenderFault": kind.is_of_sender, "Code": kind.code, "Message": error.text}
