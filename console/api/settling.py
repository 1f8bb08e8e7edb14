"""From what a consumer says of its deliveries to the words of the engine, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from console.api.answers import moment
from console.api.problems import Problem
from console.api.wire.settling import REASONS, Nack
from signalbox.messages import FailureReason, NackOutcome
from signalbox.statements import NackOptions


def nack_options(failure: Nack, within: str = "") -> NackOptions:
    """What is recorded of a failed delivery. A reason in words of the consumer's own is its error class."""
    known = failure.reason in REASONS
    if failure.reason and not known and failure.error_class:
        words = ", ".join(REASONS)
        raise Problem.of_field(f"{within}reason", f"{within}reason must be one of {words} beside an errorClass")
    return {
        "delay_seconds": failure.delay_seconds,
        "reason": cast("FailureReason", failure.reason) if known else "runtime_error",
        "error_class": failure.error_class or (None if known else failure.reason),
        "error": failure.error,
        "details": failure.details,
        "state": failure.state,
    }


def check_results(handles: list[str], results: list[Any] | None) -> None:
    """There is one result for each handle, or there are none."""
    if results is not None and len(results) != len(handles):
        detail = f"results has {len(results)} entries for {len(handles)} receiptHandles"
        raise Problem.of_field("results", detail)


def acked(handles: Iterable[str], held: Mapping[str, bool]) -> list[dict[str, Any]]:
    """What became of deliveries that were acknowledged."""
    return [{"receiptHandle": handle, "status": "acked" if held[handle] else "lost"} for handle in handles]


def nacked(handles: Iterable[str], outcomes: Iterable[NackOutcome | None]) -> list[dict[str, Any]]:
    """What became of deliveries that failed."""
    return [{"receiptHandle": h, "status": outcome or "lost"} for h, outcome in zip(handles, outcomes, strict=True)]


def changed(handles: Iterable[str], deadlines: Mapping[str, datetime | None]) -> list[dict[str, Any]]:
    """Until when leases last now."""
    ends = [(handle, deadlines[handle]) for handle in handles]
    return [
        {"receiptHandle": handle, "status": "changed" if end else "lost", "deadline": moment(end)}
        for handle, end in ends
    ]
