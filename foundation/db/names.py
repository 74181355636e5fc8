"""Names: unique in any letter case and Unicode form, and sorted without regard to them."""

import unicodedata

from django.db.models import Func
from django.db.models.expressions import Combinable


def fold_name(name: str) -> str:
    """Return the key to compare a name by: é in one or two characters is the same, and so are ß, ss and SS.

    Cut the name to its maximum length first: normalizing takes a time that is quadratic in its combining characters.
    """
    return unicodedata.normalize("NFC", name).casefold()


def by_name(name: str | Combinable) -> Func:
    """Return what to sort names by: Äpfel is beside apple, whatever the database's own collation.

    The first 50 characters count: PostgreSQL normalizes a run of marks in quadratic time, too, for each row.
    """
    return Func(
        name,
        # In alphabetical order, as in a migration, because Django compares the arguments in order.
        accents=r"'[\u0300-\u036F]'",
        template=(
            "casefold(regexp_replace(normalize(left(%(expressions)s, 50), NFKD), %(accents)s, '', 'g')"
            " COLLATE pg_unicode_fast)"
        ),
    )
