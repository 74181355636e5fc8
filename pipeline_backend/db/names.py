"""Names that are unique in any letter case and Unicode form."""

import unicodedata


def fold_name(name: str) -> str:
    """Return the key by which a name is compared: é in one or two characters, ß, ss and SS are the same.

    Cut the name to its maximum length first: normalizing takes a time that is quadratic in its combining characters.
    """
    return unicodedata.normalize("NFC", name).casefold()
