"""Saved views of lists whose search text or name is about a lead."""

import re
import unicodedata

from django.http import QueryDict

from leads.models import Lead
from leads.search import SEPARATORS
from organizations.models import SavedView

MIN_DIGITS = 6  # fewer digits of a phone number say nothing about a person


def forget_views(lead: Lead) -> None:
    """Delete the organization's views that look for the lead by e-mail, a name or phone, or are named after it."""
    views = SavedView.objects.of(lead.organization)
    views.filter(pk__in=[view.pk for view in views if is_about(view, lead)]).delete()


def is_about(view: SavedView, lead: Lead) -> bool:
    """Return whether the view's query or name has the lead's e-mail or phone, its search a name, or its name both."""
    query, email = QueryDict(view.query), lead.email.lower()
    values = [view.name, *(value for _, found in query.lists() for value in found)]
    digits = [re.sub(r"\D", "", value).lstrip("0") for value in values]
    search, names = fold(" ".join(query.getlist("q"))), words_of(f"{lead.first_name} {lead.last_name}")
    return (
        any(email in value.lower() for value in values)
        or any(email.startswith(word) for word in search.split() if "@" in word.strip("@"))
        or any(len(number) >= MIN_DIGITS and number in (lead.phone_e164 or "") for number in digits)
        or bool(names & words_of(search))
        or (len(names) > 1 and names <= words_of(view.name))
    )


def fold(text: str) -> str:
    """Return the text without upper case and accents."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def words_of(text: str) -> set[str]:
    """Return the words of the text, folded, as the search compares them."""
    return set(SEPARATORS.split(fold(text))) - {""}
