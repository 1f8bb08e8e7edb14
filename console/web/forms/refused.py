"""Refused forms that stand on the page of something else: each comes back as it was typed, with its errors.

| form | after a refusal |
|---|---|
| has a page at its own address | the page comes back with status 422, the values and the errors |
| stands on another page, as a part of its text | the browser is redirected to it; it shows the values and the errors |
| stands in a menu or a row of another page | the form gets a page for itself, with status 422 |

In all cases the browser's Back works: `forms.js` replaces a page of status 422 in the history by the page before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from console.web.htmx import render_form

KEY = "refused_form"  # in the session
MAX_CHARACTERS = 100_000

AnyForm = TypeVar("AnyForm", bound=forms.Form)


def redirect_back(request: HttpRequest, form: forms.Form, address: str) -> HttpResponse:
    """Keep a refused form, with its values and errors, and redirect to its page."""
    fields = QueryDict(mutable=True)
    for name in form.fields:
        fields.setlist(name, request.POST.getlist(name))
    errors = {name: [str(error) for error in found] for name, found in form.errors.items()}
    kept = {"form": type(form).__name__, "page": address, "fields": fields.urlencode(), "errors": errors}
    if len(kept["fields"]) <= MAX_CHARACTERS:
        request.session[KEY] = kept
    return HttpResponseRedirect(f"{address}#form-errors")


def show(request: HttpRequest, form: forms.Form, *, title: str, verb: str, page: str) -> HttpResponse:
    """Show a refused form on a page of its own: the typed values, a button with the verb, and a link to `page`."""
    context = {"title": title, "form": form, "verb": verb, "back_url": page, "action": request.path}
    return render_form(request, "components/refused_form.html", context)


def restore(request: HttpRequest, kind: type[AnyForm], initial: Mapping[str, Any] | None = None) -> AnyForm | None:
    """Return the refused form of this kind, once; None if no such form was refused on this page.

    `initial` has the present values, for the hidden copies in a form that detects changes by others.
    """
    kept = request.session.get(KEY) or {}
    if request.headers.get("HX-Request") or (kept.get("form"), kept.get("page")) != (kind.__name__, request.path):
        return None
    del request.session[KEY]
    data = QueryDict(kept["fields"], mutable=True)
    for name, value in (initial or {}).items():
        data[f"initial-{name}"] = value
    form = kind(data)
    for name, errors in kept["errors"].items():
        known = form.errors.get(name, [])
        for error in errors:
            if error not in known:
                form.add_error(name if name in form.fields else None, error)
    return form
