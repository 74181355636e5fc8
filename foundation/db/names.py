"""Names that are unique in any letter case and Unicode form."""

import unicodedata


def fold_name(name: str) -> str:
    """Return the key to compare a name by: é in one or two characters is the same, and so are ß, ss and SS.

    Cut the name to its maximum length first: normalizing takes a time that is quadratic in its combining characters.
    """
    return unicodedata.normalize("NFC", name).casefold()
