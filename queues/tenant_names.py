"""Names of queues are one list for all tenants. Those that begin with the name of a tenant are for that tenant."""

from __future__ import annotations

from queues.errors import InvalidArgument
from queues.models import Queue, Tenant

SEPARATORS = "-._"
"""What stands between the name of a tenant and the rest of a queue's name."""


def check_beginning(name: str, tenant: str, field: str = "name") -> None:
    """Refuse a name of a queue that begins with the name of another tenant. Raises `InvalidArgument`.

    The longest name of a tenant counts: `acme-eu-orders` is for the tenant `acme-eu`, and not for `acme`. A queue that
    the tenant has already keeps its name.
    """
    beginnings = [name[:place] for place, letter in enumerate(name) if letter in SEPARATORS and place]
    owners = Tenant.objects.filter(name__in=beginnings).values_list("name", flat=True)
    owner = max(owners, key=len, default=tenant)
    if owner != tenant and not Queue.objects.filter(name=name, tenant__name=tenant).exists():
        raise InvalidArgument(f"{field} is {name!r}: names that begin so are for another tenant; use another", field)
