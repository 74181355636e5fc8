"""E-mail addresses: which are accepted, and which count as the same (docs/interface.md, G17 and L1)."""

import unicodedata

import idna
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

MAX_EMAIL_LENGTH = 254
ERASED_DOMAIN = "erased.invalid"  # of the addresses that erased leads get
INVALID = "must be an e-mail address"
IS_ERASED = "is that of an erased lead"
NOT_ASCII = "must have only ASCII characters before the @"


def parse_email(text: str) -> str:
    """Return the address as it is to be stored: as typed, but an international domain in lower case and NFC.

    A domain in a third form, neither readable nor IDNA, such as one with full-width letters, gets its IDNA form.
    Raises ValueError with a predicate unless it is an address of printable characters, with ASCII only
    before the @, which is not too long in the form to store either; also for the domain of erased leads' addresses:
    a lead with its own would count as erased, and one with another lead's would keep that one from being erased.
    """
    # The length first, because normalizing takes a time that is quadratic in the combining characters.
    if len(text) > MAX_EMAIL_LENGTH or not text.isprintable():
        raise ValueError(INVALID)
    local_part, _, domain = text.rpartition("@")
    # Upper and lower case make other letters ASCII: a K of U+212A (Kelvin) is k in lower case.
    if not local_part.isascii():
        raise ValueError(NOT_ASCII)
    try:
        readable, encoded = (domain, domain) if domain.isascii() else domain_forms(domain)
        validate_email(f"{local_part}@{encoded}")
    except (ValidationError, UnicodeError):
        raise ValueError(INVALID) from None
    if encoded.lower() == ERASED_DOMAIN:
        raise ValueError(IS_ERASED)
    if domain.isascii():
        return text
    # Lower case, because the indexes are on PostgreSQL's lower(), which makes İ (U+0130) another letter than Python.
    is_readable = unicodedata.normalize("NFC", domain).lower() == readable
    address = f"{local_part}@{readable if is_readable else encoded}"
    if len(address) > MAX_EMAIL_LENGTH:
        raise ValueError(INVALID)
    return address


def domain_forms(domain: str) -> tuple[str, str]:
    """Return the domain as people read it and its IDNA form (RFC 5891), both in lower case; most domains have one form.

    Raises UnicodeError if it can't be a domain.
    """
    if domain.isascii() and "xn--" not in domain.lower():
        return domain.lower(), domain.lower()
    encoded = idna.encode(domain, uts46=True).decode()
    return idna.decode(encoded), encoded


def mail_address(email: str) -> str:
    """Return the address as mail servers get it. Django itself would write ß as ss (IDNA 2003): another domain."""
    local_part, _, domain = email.rpartition("@")
    try:
        return email if domain.isascii() else f"{local_part}@{domain_forms(domain)[1]}"
    except UnicodeError:  # version 0.2 has stored domains that only the older standard has
        return email


def spellings(email: str) -> list[str]:
    """Return the lower-case texts as which the same address can be stored, this one first."""
    return list(dict.fromkeys(forms_of(email)))


def email_key(email: str) -> str:
    """Return a key that the same addresses share. Stored ones are compared by `spellings`, which the indexes have."""
    return forms_of(email)[-1]


def forms_of(email: str) -> list[str]:
    """Return the address in lower case as given, with a readable domain in NFC and NFD, and with the IDNA form."""
    local_part, at, domain = email.rpartition("@")
    folded = email.lower()
    # Lower-casing must not turn it into another, ASCII address; no stored address is the same.
    if not local_part.isascii() and folded.rpartition("@")[0].isascii():
        return [email]
    if not at or len(email) > MAX_EMAIL_LENGTH or not email.isprintable():
        return [folded]
    try:
        readable, encoded = domain_forms(domain)
    except UnicodeError:
        return [folded]
    # NFD, because version 0.2 has stored what was typed.
    domains = (readable, unicodedata.normalize("NFD", readable), encoded)
    return [folded, *(f"{local_part.lower()}@{form}" for form in domains)]
