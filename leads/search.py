"""Search for leads by name, e-mail and phone, with the index `lead_search` (leads/migrations/0015_search.py).

Upper case and accents don't matter. Every word must be the beginning of a word of the name or the e-mail; a number is
compared with the beginning and the end of the phone number.
"""

import re
from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import BooleanField, F, Func, UUIDField, Value

MAX_FOUND = 10_000  # of the leads of a search, in no particular order if there are more
MAX_WORD = 60  # characters of a word that the index has
PHONE = re.compile(r"[+(]*\d[\d\s()./+-]{2,}")
SEPARATORS = re.compile(r"[\s!-/:-@\[-`{-~]+")  # those of the index: spaces and ASCII's punctuation
FOUND = "SELECT leads_found(%s::uuid[], %s::text[], %s, %s)"


class Terms(NamedTuple):
    """Beginnings of index entries; a lead must have all of them, or any."""

    words: list[str]
    is_any: bool


def read_terms(text: str) -> Terms:
    text = text.strip().replace("(0)", "")
    digits = re.sub(r"\D", "", text).lstrip("0")
    if PHONE.fullmatch(text) and len(digits) >= 3:
        return Terms([digits, f"<{digits[::-1]}"], is_any=True)
    words: list[str] = []
    for word in text.split():
        words += (
            [word]
            if "@" in word.strip("@") or word.startswith("@")
            else [part[:MAX_WORD] for part in SEPARATORS.split(word)]
        )
    return Terms([word for word in words if word.strip("@")], is_any=False)


def find_leads(organizations: Collection[UUID], text: str, most: int = MAX_FOUND) -> list[UUID]:
    """Return up to `most` ids of matching leads. Organizations outside the scope yield none."""
    terms = read_terms(text)
    with connection.cursor() as cursor:
        cursor.execute(FOUND, [list(organizations), terms.words, terms.is_any, most])
        return [row[0] for row in cursor.fetchall()]


def is_any_of(column: str, ids: list[UUID]) -> Func:
    """Return the condition that the column has one of these ids, which can be thousands: a single parameter."""
    # Not a subquery of them, whose size the planner doesn't know: it would compare each row of the table with each id.
    array = Value(ids, output_field=ArrayField(UUIDField()))
    return Func(F(column), array, template="(%(expressions)s))", arg_joiner=" = ANY(", output_field=BooleanField())
