"""A finding of the doctor: a subject, how bad it is, and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True)
class Finding:
    """One sentence about one subject. `advice` is empty when nothing is to be done."""

    subject: str
    level: str
    sentence: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def ok(subject: str, sentence: str) -> Finding:
    """Report a subject that needs nothing."""
    return Finding(subject, OK, sentence)


def warning(subject: str, sentence: str, advice: str) -> Finding:
    """Report a subject that works and should be changed."""
    return Finding(subject, WARNING, sentence, advice)


def error(subject: str, sentence: str, advice: str) -> Finding:
    """Report a subject that does not work, or that can lose messages."""
    return Finding(subject, ERROR, sentence, advice)
