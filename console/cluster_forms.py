"""What people say of a cluster."""

from __future__ import annotations

from django import forms

from console.forms import REASON_CHARACTERS
from dlq.cluster_models import ClusterCare
from dlq.clusters import NOTE_CHARACTERS, OWNER_CHARACTERS, URL_CHARACTERS


class CareForm(forms.Form):
    """Who cares for it, what they know, and where it is written what to do."""

    owner = forms.CharField(max_length=OWNER_CHARACTERS, required=False, help_text="A person or a team.")
    runbook_url = forms.CharField(
        label="Runbook", max_length=URL_CHARACTERS, required=False, help_text="Begins with https:// or http://."
    )
    note = forms.CharField(max_length=NOTE_CHARACTERS, required=False, widget=forms.Textarea(attrs={"rows": 4}))


class StateForm(forms.Form):
    """Where the cluster stands, and why."""

    state = forms.ChoiceField(choices=[(state, state.capitalize()) for state in ClusterCare.State.values])
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


class MergeForm(forms.Form):
    """The cluster that another is part of."""

    into = forms.CharField(
        label="Fingerprint of the other cluster",
        max_length=200,
        help_text="As its page shows it, such as v2:0123456789abcdef.",
    )
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)


class SplitForm(forms.Form):
    """The fingerprint that counts by itself again."""

    fingerprint = forms.CharField(max_length=400)
    reason = forms.CharField(max_length=REASON_CHARACTERS, required=False)
