"""Which scope each route demands, as the router has it; the description of the API does not say."""

from __future__ import annotations

import re

from console.api.authentication import ApiKey
from console.api.routes import PREFIX, api


def scopes() -> dict[tuple[str, str], str]:
    """By method and path, as the OpenAPI document writes it."""
    return {
        (method, PREFIX + re.sub(r"\{[^}:]*:([^}]*)\}", r"{\1}", f"{prefix}{path}").lstrip("/")): demand.scope
        for prefix, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
        for demand in operation.auth_callbacks or ()
        if isinstance(demand, ApiKey)
        for method in operation.methods
    }
