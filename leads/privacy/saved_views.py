"""Saved views of lists whose search text or name is about a lead."""

import re

from django.http import QueryDict

from leads.imports.terms import fold
from leads.models import Lead
from leads.privacy.identities import Identity, identity_of
from leads.search import SEPARATORS
from organizations.models import SavedView

# Fewer digits of a phone number, or letters of a name, say nothing about a person.
MIN_DIGITS, MIN_LETTERS = 6, 3


def forget_views(lead: Lead) -> None:
    views = SavedView.objects.of(lead.organization)
    identity = identity_of(lead)
    views.filter(pk__in=[view.pk for view in views if is_about(view, identity)]).delete()


def is_about(view: SavedView, person: Identity) -> bool:
    """Return whether the view's query has an e-mail, a phone or both names of the person, or its name is about them.

    Also if a word of its search finds the lead: the beginning of a name, or of a part of the e-mail before the @.
    """
    query, emails = QueryDict(view.query), [email.lower() for email in person.emails]
    values = [view.name, *(value for _, texts in query.lists() for value in texts)]
    digits = [re.sub(r"\D", "", value).lstrip("0") for value in values]
    texts = [text for name in query if name == "q" or name.endswith("_has") for text in query.getlist(name)]
    search = fold(" ".join(texts))  # of the list, and of filters by a part of a custom field's text
    searched = words_of(search)
    names = [words_of(f"{first} {last}") for first, last in person.names]
    found_by = set().union(*names, *(words_of(email.partition("@")[0]) for email in emails))
    return (
        any(email in value.lower() for value in values for email in emails)
        or any(email.startswith(word) for word in search.split() if "@" in word.strip("@") for email in emails)
        or any(number in phone for number in digits if len(number) >= MIN_DIGITS for phone in person.phones)
        or bool(found_by & searched)
        or any(name.startswith(word) for word in searched if len(word) >= MIN_LETTERS for name in found_by)
        or any(len(words) > 1 and words <= words_of(view.name) for words in names)
    )


def words_of(text: str) -> set[str]:
    return set(SEPARATORS.split(fold(text))) - {""}
