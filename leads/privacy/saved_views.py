"""Saved views of lists whose search text or name is about a lead."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from uuid import UUID

from django.http import QueryDict

from leads.imports.terms import fold, joined_names
from leads.models import Lead
from leads.privacy.identities import Identity, identity_of
from leads.search import split_words
from organizations.models import SavedView

# Fewer digits of a phone number, or letters of a name, say nothing about a person.
MIN_DIGITS, MIN_LETTERS = 6, 3


def views_about(lead: Lead) -> list[UUID]:
    """Return the ids of the views to delete. Compares, but neither locks nor changes anything."""
    person = Person(identity_of(lead))
    views = SavedView.objects.of(lead.organization).only("name", "query")
    return [view.pk for view in views if person.is_in(view)]


class Person:
    """The words of all present and former values, sorted once: a lead has up to 500, an organization many views."""

    def __init__(self, identity: Identity) -> None:
        self.emails = sorted(email.lower() for email in identity.emails)
        self.phones = "\n".join(identity.phones)
        self.names = [words_of(f"{first} {last}") for first, last in identity.names]
        local_parts = [words_of(email.partition("@")[0]) for email in self.emails]
        joined = [set(joined_names(fold(first), fold(last))) for first, last in identity.names]
        self.joined = set().union(*joined)
        self.words = sorted(self.joined.union(*self.names, *local_parts))

    def is_in(self, view: SavedView) -> bool:
        """Return whether the view's query has an e-mail, a phone or both names, or its name is about the person.

        Also if a word of its search finds the lead: the beginning of a name, or of a part of the e-mail before the @.
        """
        query = QueryDict(view.query)
        values = [view.name, *(value for _, texts in query.lists() for value in texts)]
        lines = "\n".join(values).lower()
        digits = [re.sub(r"\D", "", value).lstrip("0") for value in values]
        texts = [text for name in query if name == "q" or name.endswith("_has") for text in query.getlist(name)]
        search = fold(" ".join(texts))  # of the list, and of filters by a part of a custom field's text
        name = words_of(view.name)
        return (
            ("@" in lines and any(email in lines for email in self.emails))
            or any(is_start(word, self.emails) for word in search.split() if "@" in word.strip("@"))
            or any(number in self.phones for number in digits if len(number) >= MIN_DIGITS)
            or any(is_start(word, self.words, MIN_LETTERS) for word in words_of(search))
            or any(len(words) > 1 and words <= name for words in self.names)
            or not self.joined.isdisjoint(name)
        )


def is_start(word: str, sorted_words: Sequence[str], min_letters: int = 0) -> bool:
    """Return whether one of the words begins with this one, or is this one if it has too few letters."""
    place = bisect_left(sorted_words, word)
    found = sorted_words[place] if place < len(sorted_words) else ""
    return found == word or (len(word) >= min_letters and found.startswith(word))


def words_of(text: str) -> set[str]:
    return set(split_words(fold(text)))
