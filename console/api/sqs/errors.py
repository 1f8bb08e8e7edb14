"""Errors of SQS: one table of codes and texts, and the errors of Signalbox that become them.

SDKs decide by the code. The JSON protocol sends the name of a shape and the code of the query protocol in a header.
"""

from __future__ import annotations

from typing import NamedTuple

from console.api.core.problems import Problem, problem_of

_SERVICE = "AWS.SimpleQueueService."


class ErrorKind(NamedTuple):
    """One error of SQS: its shape in JSON, its code in the query protocol, its status, and its default text."""

    shape: str
    code: str
    status: int
    text: str

    @property
    def is_of_sender(self) -> bool:
        """Return whether the request is wrong, rather than the server unable."""
        return self.status < 500


def _kind(shape: str, text: str, *, code: str = "", status: int = 400) -> ErrorKind:
    return ErrorKind(shape, code or shape, status, text)


def _of_service(name: str, text: str, *, code: str = "") -> ErrorKind:
    return ErrorKind(name, _SERVICE + (code or name), 400, text)


ERRORS: dict[str, ErrorKind] = {
    kind.shape: kind
    for kind in (
        _of_service("QueueDoesNotExist", "The specified queue does not exist.", code="NonExistentQueue"),
        _kind("QueueNameExists", "A queue already exists with the same name.", code="QueueAlreadyExists"),
        _of_service(
            "QueueDeletedRecently",
            "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
        ),
        _of_service("PurgeQueueInProgress", "Only one PurgeQueue operation on {queue} is allowed every 60 seconds."),
        _of_service("EmptyBatchRequest", "There should be at least one {entry} in the request."),
        _of_service(
            "TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent {count}."
        ),
        _of_service("BatchEntryIdsNotDistinct", "Id {id} repeated."),
        _of_service(
            "InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at "
            "most 80 letters long.",
        ),
        _of_service(
            "BatchRequestTooLong", "Batch requests cannot be longer than {limit} bytes. You have sent {size} bytes."
        ),
        _of_service("MessageNotInflight", "The message referred to isn't in flight."),
        _of_service("UnsupportedOperation", "Unsupported operation."),
        _kind("ReceiptHandleIsInvalid", 'The input receipt handle "{handle}" is not a valid receipt handle.'),
        _kind(
            "InvalidMessageContents",
            "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to "
            "#xFFFD | #x10000 to #x10FFFF",
        ),
        _kind("InvalidAttributeName", "Unknown Attribute {name}."),
        _kind("InvalidAttributeValue", "Invalid value for the parameter {name}."),
        _kind("InvalidParameterValueException", "", code="InvalidParameterValue"),
        _kind(
            "MissingRequiredParameterException",
            "The request must contain the parameter {name}.",
            code="MissingParameter",
        ),
        _kind("ResourceNotFoundException", "The resource that you specified doesn't exist.", status=404),
        _kind("OverLimit", "The specified action violates a limit."),
        _kind("RequestThrottled", "The request was denied due to request throttling."),
        _kind("InvalidAddress", "The address {address} is not valid for this endpoint."),
        _kind("InvalidSecurity", "The request was not made over HTTPS or did not use SigV4 for signing.", status=403),
        _kind("UnknownOperationException", "The action {name} is not valid for this endpoint.", code="InvalidAction"),
        _kind("SerializationException", "The request cannot be read.", code="MalformedInput"),
        _kind("RequestEntityTooLargeException", "The request is too large.", code="RequestEntityTooLarge", status=413),
        _kind("AccessDeniedException", "Access to the resource is denied.", code="AccessDenied", status=403),
        _kind(
            "MissingAuthenticationTokenException",
            "Request is missing Authentication Token",
            code="MissingAuthenticationToken",
            status=403,
        ),
        _kind("IncompleteSignatureException", "The signature is incomplete.", code="IncompleteSignature"),
        _kind(
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
            code="InvalidClientTokenId",
            status=403,
        ),
        _kind(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret "
            "Access Key and signing method. Consult the service documentation for details.",
            code="SignatureDoesNotMatch",
            status=403,
        ),
        _kind("ServiceUnavailableException", "The service cannot answer now.", code="ServiceUnavailable", status=503),
        _kind("InternalFailure", "The server failed. The error was logged.", status=500),
    )
}
"""Every error that this endpoint sends, by shape."""


class SqsError(Exception):
    """A refusal in SQS's words. `facts` fill the default text of the kind."""

    def __init__(self, shape: str, text: str = "", **facts: object) -> None:
        self.kind = ERRORS[shape]
        self.text = text or self.kind.text.format_map(facts)
        super().__init__(self.text)


def invalid_parameter(text: str) -> SqsError:
    """Return the error of a parameter whose value is invalid."""
    return SqsError("InvalidParameterValueException", text)


def invalid_value(name: str, value: object, reason: str) -> SqsError:
    """Return the error of one parameter, with the value and the reason."""
    return invalid_parameter(f"Value {str(value)[:256]} for parameter {name} is invalid. Reason: {reason}")


def missing(name: str) -> SqsError:
    """Return the error of a parameter that a request lacks."""
    return SqsError("MissingRequiredParameterException", name=name)


def no_such_queue() -> SqsError:
    """Return the error of a queue that does not exist, or that the key does not reach."""
    return SqsError("QueueDoesNotExist")


def sqs_error_of(error: Exception) -> SqsError:
    """Convert any error of a service of /v1 into an error of SQS."""
    if isinstance(error, SqsError):
        return error
    problem = error if isinstance(error, Problem) else problem_of(error)
    slug = problem.kind.slug
    if slug == "quota-exceeded" and problem.members.get("retryAfter") is None:
        return SqsError("OverLimit", problem.detail)
    return SqsError(_BY_PROBLEM.get(slug, "InvalidParameterValueException"), _TEXTS.get(slug, problem.detail))


_BY_PROBLEM = {
    "queue-not-found": "QueueDoesNotExist",
    "queue-exists": "QueueNameExists",
    "scope-lacking": "AccessDeniedException",
    "out-of-reach": "AccessDeniedException",
    "not-reached": "AccessDeniedException",
    "https-required": "InvalidSecurity",
    "unauthorized": "UnrecognizedClientException",
    "message-not-found": "ReceiptHandleIsInvalid",
    "job-not-found": "ResourceNotFoundException",
    "queue-in-use": "UnsupportedOperation",
    "queue-closed": "UnsupportedOperation",
    "wrong-state": "UnsupportedOperation",
    "unreadable-body": "SerializationException",
    "unreadable-request": "SerializationException",
    "payload-too-large": "RequestEntityTooLargeException",
    "quota-exceeded": "RequestThrottled",
    "rate-exceeded": "RequestThrottled",
    "too-many-connections": "RequestThrottled",
    "body-unavailable": "ServiceUnavailableException",
    "moved": "ServiceUnavailableException",
    "maintenance": "ServiceUnavailableException",
    "database-away": "ServiceUnavailableException",
    "internal-error": "InternalFailure",
}
"""The error for each type of problem; other problems are about a parameter."""

_TEXTS = {"queue-not-found": "The specified queue does not exist."}
"""Texts of SQS in the place of the problem's own."""
