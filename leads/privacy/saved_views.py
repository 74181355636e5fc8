"""Saved views of lists whose search text or name is about a lead."""

import re

from django.http import QueryDict

from leads.imports.terms import fold
from leads.models import Lead
from leads.search import SEPARATORS
from organizations.models import SavedView

# Fewer digits of a phone number, or letters of a name, say nothing about a person.
MIN_DIGITS, MIN_LETTERS = 6, 3


def forget_views(lead: Lead) -> None:
    """Delete the organization's views that look for the lead by e-mail, a name or phone, or are named after it."""
    views = SavedView.objects.of(lead.organization)
    views.filter(pk__in=[view.pk for view in views if is_about(view, lead)]).delete()


def is_about(view: SavedView, lead: Lead) -> bool:
    """Return whether the view's query or name has the lead's e-mail or phone, or its name both names.

    Also if a word of its search finds the lead: the beginning of a name, or of a part of the e-mail before the @.
    """
    query, email = QueryDict(view.query), lead.email.lower()
    values = [view.name, *(value for _, found in query.lists() for value in found)]
    digits = [re.sub(r"\D", "", value).lstrip("0") for value in values]
    search, names = fold(" ".join(query.getlist("q"))), words_of(f"{lead.first_name} {lead.last_name}")
    found_by = words_of(f"{lead.first_name} {lead.last_name} {lead.email.partition('@')[0]}")
    return (
        any(email in value.lower() for value in values)
        or any(email.startswith(word) for word in search.split() if "@" in word.strip("@"))
        or any(len(number) >= MIN_DIGITS and number in (lead.phone_e164 or "") for number in digits)
        or bool(found_by & words_of(search))
        or any(len(word) >= MIN_LETTERS and name.startswith(word) for word in words_of(search) for name in found_by)
        or (len(names) > 1 and names <= words_of(view.name))
    )


def words_of(text: str) -> set[str]:
    """Return the words of the text, folded."""
    return set(SEPARATORS.split(fold(text))) - {""}
