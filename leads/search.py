"""Search for leads by name, e-mail and phone, with the index `lead_search` (leads/migrations/0015_search.py).

Upper case and accents don't matter. Every word must be the beginning of a word of the name or the e-mail; a single
letter beside longer words doesn't count. A number is compared with the beginning and the end of the phone number.
"""

import re
import unicodedata
from collections.abc import Collection
from uuid import UUID

from django.db import connection

MAX_FOUND = 10_000  # of the leads of a search, in no particular order if there are more
MAX_WORD = 60  # characters of a word that the index has
PHONE = re.compile(r"[+(]*\d[\d\s()./+-]{2,}")
FOUND = "SELECT leads_found(%s::uuid[], %s::text[], %s, %s)"


def read_terms(text: str) -> tuple[list[str], bool]:
    """Return the beginnings of index entries to look for, and whether any of them is enough."""
    text = text.strip().replace("(0)", "")
    digits = re.sub(r"\D", "", text).lstrip("0")
    if PHONE.fullmatch(text) and len(digits) >= 3:
        return [digits, f"<{digits[::-1]}"], True
    words: list[str] = []
    for word in text.split():
        is_email = "@" in word.strip("@") or word.startswith("@")
        words += [word] if is_email else [part[:MAX_WORD] for part in split_words(word)]
    words = [word for word in words if word.strip("@")]
    # The index has no beginnings of one letter. It is an initial, or the next word, of which no more is typed yet.
    longer = [word for word in words if len(word) > 1 or word.upper() == word.lower()]
    return longer or words, False


def split_words(text: str) -> list[str]:
    """Split as the index does: at spaces, and at punctuation and symbols of any script."""
    return "".join(" " if unicodedata.category(letter)[0] in "PS" else letter for letter in text).split()


def find_leads(organizations: Collection[UUID], text: str, most: int = MAX_FOUND) -> list[UUID]:
    """Return up to `most` ids of matching leads. Organizations outside the scope yield none."""
    words, is_any = read_terms(text)
    with connection.cursor() as cursor:
        cursor.execute(FOUND, [list(organizations), words, is_any, most])
        return [row[0] for row in cursor.fetchall()]
