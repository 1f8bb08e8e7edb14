"""Addresses with a name that a queue had lead to the one it has: links that people kept, those of old dead letters."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from console import roles
from console.subjects import QUEUE
from queues.renaming import name_now

SAFE_METHODS = {"GET", "HEAD"}


class RenamedMiddleware(MiddlewareMixin):
    """Looks only where there was no such page: what is found costs nothing."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """The same page of the queue as it is called now, for who may see it."""
        found = request.resolver_match
        if response.status_code != 404 or request.method not in SAFE_METHODS or found is None:
            return response
        name = str(found.kwargs.get("name"))
        if not request.path.startswith(f"/queues/{name}") or not request.user.is_authenticated:
            return response
        new_name = name_now(name)
        if new_name is None or not roles.may(request.user, "see_metadata", QUEUE.find(name=new_name)):
            return response
        address = reverse(found.view_name, kwargs={**found.kwargs, "name": new_name})
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(f"{address}?{query}" if query else address)
