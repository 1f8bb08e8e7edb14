"""The list of clusters as two pages show it: a few above the dead letters, and all by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from console import keyset, masked
from console.keyset import Pager
from console.roles import reach
from console.wording import plural
from dlq.browse import Page
from dlq.clusters import STATES, Cluster, Narrowing, Sort, State, list_clusters
from dlq.filters import Filter, FilterError
from dlq.masking_rules import Masking

FEW_CLUSTERS = 10

SORT_LABELS = {Sort.WORST: "Worst first", Sort.NEWEST: "Newest first"}


@dataclass(frozen=True)
class Choice:
    """One of several ways to see the list."""

    label: str
    url: str
    current: bool


@dataclass(frozen=True)
class Row:
    """One cluster, and the filter that selects its messages among those the list is of."""

    cluster: Cluster
    narrowed: str


@dataclass(frozen=True)
class ClusterList:
    """A page of clusters with the ways to see others. `rows` is None when there was no time to sum them up."""

    rows: Sequence[Row] | None
    pager: Pager
    sorts: Sequence[Choice]
    states: Sequence[Choice]
    unasked: str
    """The part of the filter that clusters cannot be asked: they are of all that the rest selects."""
    narrowed: bool
    all_url: str
    more: bool = field(default=False)


def read(request: HttpRequest, chosen: Filter) -> ClusterList:
    """The page that the address asks for."""
    state, sort = _state(request), _sort(request)
    narrowing = Narrowing.of(chosen, state)
    page = list_clusters(narrowing, sort, keyset.place(request))
    return _shown(request, chosen, narrowing, sort, page)


def read_few(request: HttpRequest, chosen: Filter) -> ClusterList:
    """The worst of what the filter selects, for above a list of messages."""
    narrowing = Narrowing.of(chosen)
    return _shown(request, chosen, narrowing, Sort.WORST, list_clusters(narrowing, size=FEW_CLUSTERS))


def read_of_holder(request: HttpRequest, name: str) -> ClusterList:
    """The worst of what died in the queues that send their dead to this one."""
    narrowing = Narrowing.of_holder(name, reach(request.user, "see_metadata"))
    page = list_clusters(narrowing, size=FEW_CLUSTERS)
    return _shown(request, Filter().with_term("queue", name), narrowing, Sort.WORST, page)


def _shown(
    request: HttpRequest, chosen: Filter, narrowing: Narrowing, sort: Sort, page: Page[Cluster] | None
) -> ClusterList:
    shown, masking = page or Page(), Masking()
    state = narrowing.state
    clusters = [masked.cluster(one, masking) for one in shown.rows]
    return ClusterList(
        rows=None if page is None else [Row(one, _narrowed(chosen, one.fingerprint)) for one in clusters],
        pager=keyset.pager(request, shown, f"{plural(len(shown.rows), 'cluster')} shown"),
        sorts=[Choice(label, _url(chosen, one, state), one is sort) for one, label in SORT_LABELS.items()],
        states=[
            Choice("Any state", _url(chosen, sort, None), state is None),
            *(Choice(one.capitalize(), _url(chosen, sort, one), one is state) for one in STATES),
        ],
        unasked=" ".join(str(term) for term in narrowing.unasked),
        narrowed=bool(chosen) or state is not None,
        all_url=_url(chosen, sort, None),
        more=bool(shown.after),
    )


def _narrowed(chosen: Filter, fingerprint: str) -> str:
    """`chosen`, asking for this cluster only; for the cluster alone where that grows too long."""
    try:
        return str(chosen.without("fp").with_term("fp", fingerprint))
    except FilterError:
        return str(Filter().with_term("fp", fingerprint))


def _url(chosen: Filter, sort: Sort, state: State | None) -> str:
    parameters = {"q": str(chosen), "sort": sort.value if sort is not Sort.WORST else "", "state": state or ""}
    asked = urlencode({name: value for name, value in parameters.items() if value})
    return f"{reverse('clusters')}?{asked}" if asked else reverse("clusters")


def _state(request: HttpRequest) -> State | None:
    asked = request.GET.get("state", "")
    return State(asked) if asked in STATES else None


def _sort(request: HttpRequest) -> Sort:
    asked = request.GET.get("sort", "")
    return Sort(asked) if asked in set(Sort) else Sort.WORST
