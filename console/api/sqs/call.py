"""One call of an operation: its key, its parameters and its address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from console.access.api_keys import Key
from console.api.sqs.accounts import Arn, account_of


@dataclass
class Call:
    """A call whose signature and parameters are checked. `given` has the parameters by name."""

    operation: str
    key: Key
    region: str
    base_url: str
    given: dict[str, Any]
    authenticate: Callable[[], Awaitable[Key]]
    """Check the signature's key once more, after a wait."""
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
    waits: Callable[[], None]
    """Tell the metrics that this call may wait as long as its sender asks."""
    sender_id: str = field(default="")
    trace_header: str = field(default="")
    """The header X-Amzn-Trace-Id, which tracers of AWS add to every request."""

    def url_of(self, name: str, tenant: str) -> str:
        """Return the URL of a queue, at the address where this call came in."""
        return f"{self.base_url}/{account_of(tenant)}/{name}"

    def arn_of(self, name: str, tenant: str) -> str:
        """Return the ARN of a queue, in the region that this call names."""
        return str(Arn(self.region, account_of(tenant), name))
