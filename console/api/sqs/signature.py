"""AWS Signature Version 4: the signature that a request carries, and its check.

The signature covers the method, the address, the signed headers and the hash of the body. It stands in the header
Authorization, or in the address of a presigned request. docs.aws.amazon.com describes it under "Signature Version 4".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from urllib.parse import parse_qsl, quote

from console.api.sqs.errors import SqsError

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "sqs"
SKEW = timedelta(minutes=15)
MAX_EXPIRY_SECONDS = 604_800
MUST_BE_SIGNED = ("host", "x-amz-target")
"""Headers that decide what a request does, and so must be signed where they are sent."""

_SAFE = "-_.~"
_PARTS = re.compile(r"\s*(Credential|SignedHeaders|Signature)\s*=\s*([^,\s]+)\s*")
_TIME = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_SCOPE = re.compile(r"([^/]+)/([0-9]{8})/([A-Za-z0-9-]{1,64})/([a-z0-9-]+)/aws4_request")
_SIGNATURE = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Request:
    """The parts of a request that its signature covers. Names of headers are in lower case."""

    method: str
    raw_path: str
    query: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of a header; several of one name are joined by commas."""
        return self._joined.get(name)

    @cached_property
    def _joined(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in self.headers:
            text = " ".join(value.split())
            found[name] = f"{found[name]},{text}" if name in found else text
        return found


@dataclass(frozen=True)
class Signature:
    """A signature as a request carries it."""

    access_key_id: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str
    signed_at: datetime
    valid_for: timedelta | None
    """The time for which a presigned request is valid; None for a signature in a header."""

    def is_made_with(self, secret: str, request: Request) -> bool:
        """Return whether the secret made this signature of the request, in constant time."""
        return hmac.compare_digest(self._of(secret, request), self.signature)

    def _of(self, secret: str, request: Request) -> str:
        scope = f"{self.date}/{self.region}/{self.service}/aws4_request"
        canonical = hashlib.sha256(self.canonical(request).encode()).hexdigest()
        text = f"{ALGORITHM}\n{_compact(self.signed_at)}\n{scope}\n{canonical}"
        key = f"AWS4{secret}".encode()
        for part in (self.date, self.region, self.service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex()

    def canonical(self, request: Request) -> str:
        """Return the canonical form of the request."""
        headers = "".join(f"{name}:{request.header(name) or ''}\n" for name in self.signed_headers)
        return "\n".join(
            [
                request.method,
                _canonical_path(request.raw_path),
                _canonical_query(request.query),
                headers,
                ";".join(self.signed_headers),
                hashlib.sha256(request.body).hexdigest(),
            ]
        )


def read_signature(request: Request, now: datetime) -> Signature:
    """Return the signature of a request after every check that needs no secret. Raises `SqsError`."""
    authorization = request.header("authorization")
    presigned = dict(parse_qsl(request.query, keep_blank_values=True)) if "X-Amz-" in request.query else {}
    if authorization:
        signature = _in_header(authorization, request)
    elif "X-Amz-Signature" in presigned:
        signature = _in_query(presigned)
    else:
        raise SqsError("MissingAuthenticationTokenException")
    _check_headers(signature, request)
    _check_time(signature, now)
    return signature


def _in_header(authorization: str, request: Request) -> Signature:
    algorithm, _, rest = authorization.partition(" ")
    if algorithm != ALGORITHM:
        raise _incomplete(f"Unsupported AWS 'algorithm': '{algorithm[:80]}'.")
    found = [_PARTS.fullmatch(part) for part in rest.split(",")]
    parts = {part[1]: part[2] for part in found if part}
    for needed in ("Credential", "Signature", "SignedHeaders"):
        if needed not in parts:
            raise _incomplete(f"Authorization header requires '{needed}' parameter.")
    signed_at = _moment(request.header("x-amz-date"), request.header("date"))
    return _signature(parts["Credential"], parts["SignedHeaders"], parts["Signature"], signed_at, None)


def _in_query(given: dict[str, str]) -> Signature:
    for needed in ("X-Amz-Credential", "X-Amz-SignedHeaders", "X-Amz-Date", "X-Amz-Expires"):
        if not given.get(needed):
            raise _incomplete(f"AWS query-string parameters must include '{needed}'.")
    if given.get("X-Amz-Algorithm") != ALGORITHM:
        raise _incomplete("AWS query-string parameters must include 'X-Amz-Algorithm' of AWS4-HMAC-SHA256.")
    seconds = given["X-Amz-Expires"]
    if not re.fullmatch(r"[0-9]{1,6}", seconds) or not 1 <= int(seconds) <= MAX_EXPIRY_SECONDS:
        raise _incomplete(f"X-Amz-Expires must be from 1 to {MAX_EXPIRY_SECONDS} seconds.")
    return _signature(
        given["X-Amz-Credential"],
        given["X-Amz-SignedHeaders"],
        given["X-Amz-Signature"],
        _moment(given["X-Amz-Date"], None),
        timedelta(seconds=int(seconds)),
    )


def _signature(
    credential: str, headers: str, signature: str, signed_at: datetime, valid_for: timedelta | None
) -> Signature:
    scope = _SCOPE.fullmatch(credential)
    if scope is None:
        raise _incomplete(
            "Credential must have exactly 5 slash-delimited elements, such as KEY/DATE/REGION/sqs/aws4_request."
        )
    key, date, region, service = scope.groups()
    if service != SERVICE:
        raise SqsError("InvalidSignatureException", f"Credential should be scoped to correct service: '{SERVICE}'.")
    if date != _compact(signed_at)[:8]:
        raise SqsError("InvalidSignatureException", "Date in Credential scope does not match the date of the request.")
    if not _SIGNATURE.fullmatch(signature):
        raise SqsError("InvalidSignatureException")
    return Signature(key, date, region, service, tuple(headers.split(";")), signature, signed_at, valid_for)


def _check_headers(signature: Signature, request: Request) -> None:
    if list(signature.signed_headers) != sorted(set(signature.signed_headers)):
        raise SqsError("InvalidSignatureException")
    for name in MUST_BE_SIGNED:
        if request.header(name) is not None and name not in signature.signed_headers:
            raise SqsError("InvalidSignatureException", f"'{name}' must be a 'SignedHeader' in the AWS Authorization.")
    declared = request.header("x-amz-content-sha256")
    if declared is not None and declared != hashlib.sha256(request.body).hexdigest():
        raise SqsError("InvalidSignatureException", "The header x-amz-content-sha256 is not the hash of the body.")


def _check_time(signature: Signature, now: datetime) -> None:
    """Refuse what was signed too long ago, or is from the future."""
    if signature.signed_at > now + SKEW:
        raise SqsError(
            "InvalidSignatureException",
            f"Signature not yet current: {_compact(signature.signed_at)} is still later than {_compact(now + SKEW)} "
            f"({_compact(now)} + 15 min.)",
        )
    ends_at = signature.signed_at + (SKEW if signature.valid_for is None else signature.valid_for)
    if ends_at < now:
        limit = "15 min." if signature.valid_for is None else f"{signature.valid_for.total_seconds():.0f} s"
        raise SqsError(
            "InvalidSignatureException",
            f"Signature expired: {_compact(signature.signed_at)} is now earlier than "
            f"{_compact(now - (ends_at - signature.signed_at))} ({_compact(now)} - {limit})",
        )


def _moment(compact: str | None, date: str | None) -> datetime:
    try:
        if compact is not None:
            if not _TIME.fullmatch(compact):
                raise ValueError
            return datetime.fromisoformat(compact)
        if date is not None:
            return parsedate_to_datetime(date).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _incomplete(
            "The date of the request must be in ISO-8601 'basic format', such as 20260102T030405Z."
        ) from None
    raise _incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")


def _compact(at: datetime) -> str:
    return at.strftime("%Y%m%dT%H%M%SZ")


def _incomplete(text: str) -> SqsError:
    return SqsError("IncompleteSignatureException", text)


def _canonical_path(raw_path: str) -> str:
    """Return the path without empty and dot segments, and encoded once more, as signers of every service but S3 do."""
    kept: list[str] = []
    for part in raw_path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    slash = "/" if kept and raw_path.endswith("/") else ""
    return quote(f"/{'/'.join(kept)}{slash}", safe=f"/{_SAFE}")


def _canonical_query(query: str) -> str:
    pairs = [_encoded(pair) for pair in parse_qsl(query, keep_blank_values=True, encoding="latin-1")]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs) if name != "X-Amz-Signature")


def _encoded(pair: Iterable[str]) -> tuple[str, str]:
    name, value = (quote(part.encode("latin-1"), safe=_SAFE) for part in pair)
    return name, value
